"""Roots: the folders that are followed, each with its patterns."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from localrag.store.followed_rows import RootRow
from localrag.store.session import Session
from localrag.store.sqlite import clean, clean_path


class Roots:
    """Stores and lists followed folders. What lies in them belongs to `Documents`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def list(self) -> list[RootRow]:
        """All followed folders, by path."""
        return [
            RootRow(path, _patterns(include), _patterns(exclude), bool(gitignore), synced_at)
            for path, include, exclude, gitignore, synced_at in self._session.rows(
                "SELECT path, include, exclude, gitignore, synced_at FROM roots ORDER BY path"
            )
        ]

    def get(self, path: str) -> RootRow | None:
        """The followed folder with this path."""
        wanted = clean_path(path)
        return next((row for row in self.list() if row.path == wanted), None)

    def put(self, row: RootRow) -> None:
        """Follow a folder, or give one that is followed other patterns; the time of its last sync stays."""
        known = self.get(row.path)
        if known is not None and known == RootRow(
            clean_path(row.path), _cleaned(row.include), _cleaned(row.exclude), row.gitignore, known.synced_at
        ):
            return
        with self._session.transaction():
            self._session.run(
                "INSERT INTO roots (path, include, exclude, gitignore, added_at) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (path) DO UPDATE SET include = excluded.include, exclude = excluded.exclude, "
                "gitignore = excluded.gitignore",
                [
                    clean_path(row.path),
                    json.dumps(_cleaned(row.include), ensure_ascii=False),
                    json.dumps(_cleaned(row.exclude), ensure_ascii=False),
                    int(row.gitignore),
                    _now(),
                ],
            )

    def remove(self, path: str) -> bool:
        """Follow a folder no more; its documents stay. False if it was not followed."""
        with self._session.transaction():
            return bool(self._session.run("DELETE FROM roots WHERE path = ?", [clean_path(path)]))

    def note_sync(self, path: str) -> None:
        """Note that a folder was compared with the knowledge base just now."""
        with self._session.transaction():
            self._session.run("UPDATE roots SET synced_at = ? WHERE path = ?", [_now(), clean_path(path)])


def _patterns(text: str) -> tuple[str, ...]:
    return tuple(str(pattern) for pattern in json.loads(text))


def _cleaned(patterns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(clean(pattern) for pattern in patterns)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
