"""Opens further knowledge bases beside the one that is asked, each under a name of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from localrag.errors import KnowledgeBaseNotFound, UsageError
from localrag.store.database import Store

MOST = 8
"""Most knowledge bases beside the one that is asked."""


@dataclass(frozen=True)
class Bases:
    """Knowledge bases that are open together."""

    own: Store
    """The one that is asked; its name is empty."""

    others: Mapping[str, Store]
    """The others by their names, in the order in which they were named."""

    @property
    def names(self) -> tuple[str, ...]:
        """All names; the first is empty and stands for the one that is asked."""
        return ("", *self.others)

    def store(self, name: str) -> Store:
        """The file of a name, such as a hit's `base`. Raises `UsageError` for a name that none has."""
        if not name:
            return self.own
        if name not in self.others:
            raise UsageError(
                f"The knowledge base {name} is not open.", "Name its file again with the question."
            )
        return self.others[name]

    def marks(self) -> tuple[tuple[str, int], ...]:
        """Identity and revision of each, for what is valid only as long as none of them changes."""
        return tuple((store.info().uuid, store.revision()) for store in (self.own, *self.others.values()))


@contextmanager
def open_bases(own: Store, paths: Sequence[Path]) -> Iterator[Bases]:
    """Open other knowledge bases for reading, as long as the block lasts; nothing is ever written to them.

    A file that is named twice, or that is the one asked, is taken once. Names are those of the files, with
    a number where two have the same. Raises `KnowledgeBaseNotFound`, `NotAKnowledgeBase`, `NewerFormat` and
    what else opening raises, and `UsageError` for too many.
    """
    if len(paths) > MOST:
        raise UsageError(
            f"{len(paths)} further knowledge bases are too many for one question.",
            f"Name up to {MOST}, or join them: localrag merge FILE...",
        )
    with ExitStack() as stack:
        others: dict[str, Store] = {}
        seen = {own.path.resolve()}
        for path in map(Path, paths):
            if path.resolve() in seen:
                continue
            seen.add(path.resolve())
            if not path.exists():
                raise KnowledgeBaseNotFound(
                    f"There is no knowledge base {path}.", "Look for a mistake in its path."
                )
            store = stack.enter_context(Store.open(path, read_only=True))
            others[_name(path, others, own)] = store
        yield Bases(own, others)


def _name(path: Path, taken: Mapping[str, Store], own: Store) -> str:
    """The file's name without its ending, with a number if it is taken."""
    name, number = path.stem, 2
    while name in taken or name == own.path.stem:
        name = f"{path.stem} ({number})"
        number += 1
    return name
