"""All vectors of one kind and space at hand in memory: mapped from the cache, and the newest ones beside it.

It follows the knowledge base before every search without reading it again:

* What is new has higher row numbers (they grow, are never given twice, and a stored vector is never changed
  in place), so only the rows behind the last known one are read.
* Every deletion changes a random mark in the file. A mark that is not the one last seen means that row
  numbers are compared, and that the rows that are gone are overwritten.
* Two copies of a file that went different ways give the same row numbers to different vectors. But each row
  has a random mark of its own, and before a cache is believed some rows are compared with the file. If the
  last one is the same, both were one file when it was stored, and so are all rows before it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from localrag.store.matrix_cache import CacheKey, Matrix, MatrixCache, Numbers, Rows, Segment
from localrag.store.session import Session, listed

RESIDENT = 1 << 28
"""Most bytes of one kind's vectors that are kept in memory where the cache cannot take them."""

SEGMENT = 1 << 15
"""New rows that are worth a file of their own."""

LEAST = 1 << 12
"""Fewest rows for which a cache is begun; fewer are searched in the knowledge base itself."""

_GATHERED = 8
"""One row of so many is picked by its place."""

_MOST_SEGMENTS = 12
_MOST_DEAD = 0.25
_COMPARED = 16
_FETCHED = 2048
_BLOCKS = 8


class MatrixView:
    """The vectors of one kind and space as this connection sees them outside of transactions."""

    def __init__(self, session: Session, cache: MatrixCache, key: CacheKey) -> None:
        self._session = session
        self._cache = cache
        self._key = key
        self._table = f"{key.kind}_vectors"
        self._segments: list[Segment] = []
        self._newest: list[Rows] = []
        self._mark: int | None = None
        self._refused = False

    def blocks(self, only: Numbers | None = None) -> Iterator[tuple[Numbers, Matrix]]:
        """Ids and vectors of all rows as they were at the last `refresh`, or of those whose ids are in `only`
        (ascending); the id 0 stands for a deleted row."""
        held = [*(segment.rows for segment in self._segments), *self._newest]
        for rows in filter(len, held):
            if only is None:
                yield rows.ids, rows.vectors
            elif len(picked := rows.positions(only)) * _GATHERED > len(rows):
                # Reading all in order is faster than picking that many.
                ids = np.zeros_like(rows.ids)
                ids[picked] = rows.ids[picked]
                yield ids, rows.vectors
            elif len(picked):
                picked.sort()
                yield rows.ids[picked], rows.vectors[picked]

    def refresh(self) -> bool:
        """Catch up with the file; False if there are too many vectors to be kept anywhere."""
        mark = self._current_mark()
        begins = self._mark is None
        if begins:
            self._segments = self._cache.chain(self._key)
        # The files are looked at too: a copy of the knowledge base shares them until it goes another way.
        if self._mark != mark or any(segment.mark != mark for segment in self._segments):
            self._follow(mark)
            if begins and not self._agrees():
                self._forget()
        self._mark = mark
        if not self._grow():
            # A part of the rows is of no use.
            self._forget(keep_files=True)
            return False
        return True

    def _grow(self) -> bool:
        """Take in what was stored since; False if there is no place for it."""
        new = self._count_after(self._last())
        if not new:
            return True
        held = sum(map(len, self._newest))
        if not self._refused and held + new >= (SEGMENT if self._segments else LEAST):
            self._tidy()
            if self._write():
                return True
            held, new = sum(map(len, self._newest)), self._count_after(self._last())
        if (held + new) * self._key.dimension * 4 > RESIDENT:
            return False
        self._newest += self._read(self._last())
        if len(self._newest) > _BLOCKS:
            self._newest = [_joined(self._newest)]
        return True

    def _write(self) -> bool:
        """Put everything behind the last file into a new file; False if the cache does not take it."""
        after = self._segments[-1].last if self._segments else 0
        mark = self._current_mark()
        segment = self._cache.add(self._key, after, self._read(after), mark, self._count_after(after))
        if segment is None:
            self._refused = True
            return False
        self._segments.append(segment)
        self._newest = []
        # Whoever deleted something while the file was written could not know of it.
        now = self._current_mark()
        if now != mark:
            self._follow(now)
        self._mark = now
        return bool(self._segments)

    def _tidy(self) -> None:
        """Give up files that are too many, or too much of which was deleted; they are written anew as one."""
        rows = sum(len(segment.rows) for segment in self._segments)
        dead = sum(int((segment.rows.ids == 0).sum()) for segment in self._segments)
        if len(self._segments) >= _MOST_SEGMENTS or dead > _MOST_DEAD * rows:
            self._forget()

    def _follow(self, mark: int) -> None:
        """Overwrite the rows that are not in the file any more, and give up if some are missing here."""
        reached = 0
        for segment in self._segments:
            # One with this mark was followed by whoever deleted, or by another program that searches.
            if segment.mark != mark:
                live = self._live(segment.after, segment.last)
                gone = _gone(segment.rows, live)
                if len(gone):
                    segment.bury(gone)
                segment.set_mark(mark)
                if int((segment.rows.ids != 0).sum()) != len(live):
                    # Overwritten on behalf of a copy of the file in which they were deleted.
                    self._forget()
                    return
            reached = segment.last
        if self._newest:
            live = self._live(reached, self._last())
            newest = _joined(self._newest)
            alive = np.delete(np.arange(len(newest)), _gone(newest, live))
            self._newest = [
                Rows(newest.seqs[alive], newest.ids[alive], newest.marks[alive], newest.vectors[alive])
            ]

    def _live(self, after: int, last: int) -> Numbers:
        """The row numbers of the space in the file that are greater than `after` and not than `last`."""
        found = self._session.column(
            f"SELECT seq FROM {self._table} WHERE space_id = ? AND +seq > ? AND +seq <= ?",
            [self._key.space_id, after, last],
        )
        return np.sort(np.array(found, dtype=np.int64))

    def _agrees(self) -> bool:
        """Whether rows of the files, the last one among them, are what the knowledge base holds."""
        for segment in self._segments:
            rows = segment.rows
            alive = np.flatnonzero(rows.ids)
            picked = (
                alive[np.linspace(0, len(alive) - 1, _COMPARED).astype(np.int64)] if len(alive) else alive
            )
            wanted = {
                (int(rows.seqs[i]), int(rows.ids[i]), int(rows.marks[i]), rows.vectors[i].tobytes())
                for i in picked
            }
            stored = self._session.rows(
                f"SELECT seq, {self._key.kind}_id, mark, vec FROM {self._table} "
                "WHERE space_id = ? AND seq IN (SELECT value FROM json_each(?))",
                [self._key.space_id, listed(rows.seqs[picked])],
            )
            if wanted != set(stored):
                return False
        return True

    def _forget(self, *, keep_files: bool = False) -> None:
        if not keep_files:
            self._cache.drop(self._key)
        self._segments, self._newest = [], []
        if keep_files:
            self._mark = None

    def _last(self) -> int:
        """The highest row number that was taken in."""
        newest = [int(rows.seqs[-1]) for rows in self._newest if len(rows)]
        files = [segment.last for segment in self._segments]
        return max([*newest, *files], default=0)

    def _current_mark(self) -> int:
        return int(self._session.value(f"SELECT {self._table}_removed FROM meta"))

    def _count_after(self, seq: int) -> int:
        # To count all of them the index is read, since the rows themselves are a hundred times its size.
        column = "seq" if seq else "+seq"
        return int(
            self._session.value(
                f"SELECT count(*) FROM {self._table} WHERE space_id = ? AND {column} > ?",
                [self._key.space_id, seq],
            )
        )

    def _read(self, after: int) -> Iterator[Rows]:
        """The rows behind a row number, in blocks."""
        rows = self._session.each(
            f"SELECT seq, {self._key.kind}_id, mark, vec FROM {self._table} "
            "WHERE space_id = ? AND seq > ? ORDER BY seq",
            [self._key.space_id, after],
        )
        block = []
        for row in rows:
            block.append(row)
            if len(block) == _FETCHED:
                yield _as_rows(block, self._key.dimension)
                block = []
        if block:
            yield _as_rows(block, self._key.dimension)


def _as_rows(rows: list[tuple[int, int, int, bytes]], dimension: int) -> Rows:
    numbers = np.array([row[:3] for row in rows], dtype=np.int64).reshape(len(rows), 3)
    vectors = np.frombuffer(b"".join(row[3] for row in rows), dtype="<f4").reshape(len(rows), dimension)
    return Rows(numbers[:, 0].copy(), numbers[:, 1].copy(), numbers[:, 2].copy(), vectors)


def _joined(blocks: list[Rows]) -> Rows:
    return Rows(
        np.concatenate([block.seqs for block in blocks]),
        np.concatenate([block.ids for block in blocks]),
        np.concatenate([block.marks for block in blocks]),
        np.concatenate([block.vectors for block in blocks]),
    )


def _gone(rows: Rows, live: Numbers) -> Numbers:
    """Positions of rows that are not deleted here but in the file."""
    return np.flatnonzero((rows.ids != 0) & ~np.isin(rows.seqs, live, assume_unique=True))
