"""The names of all documents as `graph.resolution.over_all` asks about them, as they were read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from localrag.graph.name_relations import Kind, Profile
from localrag.graph.resolution import CROWD, features_of
from localrag.store.session import Session, listed

_ID_IN = "IN (SELECT value FROM json_each(?))"


class StoredNames:
    """A `Corpus` over the file; what was asked once is kept, so it is for one piece of work."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._profiles: dict[str, Profile | None] = {}
        self._sharing: dict[str, list[str]] = {}
        self._votes: dict[str, dict[str, list[tuple[Kind, bool]]]] = {}
        self._voters: dict[str, list[str]] = {}
        self._documents: dict[str, frozenset[int]] = {}
        self._neighbours: dict[str, frozenset[str]] = {}

    def load(self, keys: Iterable[str]) -> None:
        """Fetch the profiles of many names at once."""
        wanted = [key for key in keys if key not in self._profiles]
        names: dict[str, set[str]] = {}
        types: dict[str, set[str]] = {}
        for key, name, kind in self._session.each(
            f"SELECT DISTINCT key, name, type FROM mentions WHERE key {_ID_IN}", [listed(wanted)]
        ):
            names.setdefault(key, set()).add(name)
            types.setdefault(key, set()).add(kind)
        for key in wanted:
            there = key in names
            self._profiles[key] = (
                Profile(key, frozenset(names[key]), frozenset(types[key])) if there else None
            )

    def profile(self, key: str) -> Profile | None:
        """See `Corpus`."""
        if key not in self._profiles:
            self.load([key])
        return self._profiles[key]

    def alike(self, key: str) -> Collection[str]:
        """See `Corpus`."""
        profile = self.profile(key)
        found: set[str] = set()
        for feature in features_of(profile) if profile is not None else ():
            if feature not in self._sharing:
                names = self._session.column(
                    "SELECT key FROM name_features WHERE feature = ? LIMIT ?", [feature, CROWD + 1]
                )
                self._sharing[feature] = names if len(names) <= CROWD else []
            found.update(self._sharing[feature])
        self.load(found)
        return found - {key}

    def votes(self, key: str) -> Mapping[str, Sequence[tuple[Kind, bool]]]:
        """See `Corpus`."""
        if key not in self._votes:
            found: dict[str, list[tuple[Kind, bool]]] = {}
            for into, kind, said in self._session.rows(
                "SELECT into_key, kind, said FROM document_merges WHERE key = ?", [key]
            ):
                found.setdefault(into, []).append((kind, bool(said)))
            self._votes[key] = found
        return self._votes[key]

    def voters(self, key: str) -> Collection[str]:
        """See `Corpus`."""
        if key not in self._voters:
            self._voters[key] = self._session.column(
                "SELECT DISTINCT key FROM document_merges WHERE into_key = ?", [key]
            )
        return self._voters[key]

    def together(self, one: str, other: str) -> int:
        """See `Corpus`."""
        return len(self._in(one) & self._in(other))

    def neighbours(self, key: str) -> Collection[str]:
        """See `Corpus`."""
        if key not in self._neighbours:
            self._neighbours[key] = frozenset(
                self._session.column(
                    "SELECT target_key FROM relation_mentions WHERE source_key = ? "
                    "UNION SELECT source_key FROM relation_mentions WHERE target_key = ?",
                    [key, key],
                )
            )
        return self._neighbours[key]

    def _in(self, key: str) -> frozenset[int]:
        """The documents that hold a name."""
        if key not in self._documents:
            self._documents[key] = frozenset(
                self._session.column(
                    "SELECT DISTINCT c.document_id FROM mentions m JOIN chunks c ON c.id = m.chunk_id "
                    "WHERE m.key = ?",
                    [key],
                )
            )
        return self._documents[key]
