"""Which documents a person wants to be read before the others; may change while a run goes on."""

from __future__ import annotations

from collections.abc import Iterable


class Preference:
    """An order of documents, the one wanted most first.

    Safe for several threads, since it is replaced as a whole.
    """

    def __init__(self, documents: Iterable[int] = ()) -> None:
        self._documents: tuple[int, ...] = tuple(dict.fromkeys(documents))

    @property
    def documents(self) -> tuple[int, ...]:
        """Ids of the documents; compared with an earlier one it tells whether anything changed."""
        return self._documents

    def put(self, documents: Iterable[int]) -> None:
        """Take another order."""
        self._documents = tuple(dict.fromkeys(documents))

    def ranks(self) -> dict[int, int]:
        """The place of each document, from 0."""
        return {document: place for place, document in enumerate(self._documents)}
