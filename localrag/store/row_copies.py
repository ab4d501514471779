"""Rows of one file written into another: every column as it is, ids and what points to ids made anew."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from localrag.store.session import Row, Session, listed

_IN = "IN (SELECT value FROM json_each(?))"

Ids = dict[int, int]
"""Ids there and here."""


class RowCopier:
    """Copies rows from `source` to `target`, two files of the same format.

    Columns are taken from the tables themselves, so that a column that a later format adds comes along. Names
    of tables and columns are our own; values are always parameters.
    """

    def __init__(self, source: Session, target: Session) -> None:
        self.source = source
        self.target = target
        self._columns: dict[str, tuple[str, ...]] = {}

    def columns(self, table: str) -> tuple[str, ...]:
        """The columns of a table but `id`."""
        if table not in self._columns:
            names = self.target.column("SELECT name FROM pragma_table_info(?)", [table])
            self._columns[table] = tuple(name for name in names if name != "id")
        return self._columns[table]

    def copy(
        self,
        table: str,
        by: str,
        maps: Mapping[str, Ids],
        given: Mapping[str, Any] | None = None,
    ) -> Ids:
        """Copy the rows whose column `by` is among the keys of `maps[by]`, in the order of their ids.

        Columns of `maps` are translated, those of `given` get the same value in every row. Returns the ids
        there and here.
        """
        ids: Ids = {}
        names = self.columns(table)
        for old, *values in self.source.each(
            f"SELECT id, {', '.join(names)} FROM {table} WHERE {by} {_IN} ORDER BY id", [listed(maps[by])]
        ):
            ids[old] = self.put(table, tuple(values), maps, given)
        return ids

    def put(
        self, table: str, values: Row, maps: Mapping[str, Ids], given: Mapping[str, Any] | None = None
    ) -> int:
        """Write one row, whose values are in the order of `columns`; returns its id."""
        names = self.columns(table)
        return self.target.insert(
            f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",
            self._translated(names, values, maps, given or {}),
        )

    def copy_links(self, table: str, maps: Mapping[str, Ids], *, by: str) -> int:
        """Copy rows of a table without ids of its own, where all columns of `maps` can be translated and the
        row is not here already; returns how many."""
        names = self.columns(table)
        place = [names.index(name) for name in maps]
        marks = ", ".join("?" * len(names))
        sql = f"INSERT OR IGNORE INTO {table} ({', '.join(names)}) VALUES ({marks})"
        count = 0
        for values in self.source.each(
            f"SELECT {', '.join(names)} FROM {table} WHERE {by} {_IN}", [listed(maps[by])]
        ):
            if all(values[index] in maps[names[index]] for index in place):
                count += self.target.run(sql, self._translated(names, values, maps, {}))
        return count

    def _translated(
        self, names: Collection[str], values: Row, maps: Mapping[str, Ids], given: Mapping[str, Any]
    ) -> list[Any]:
        found: list[Any] = []
        for name, value in zip(names, values, strict=True):
            if name in given:
                found.append(given[name])
            elif name in maps and value is not None:
                # What was not carried over is not pointed to.
                found.append(maps[name].get(value))
            else:
                found.append(value)
        return found
