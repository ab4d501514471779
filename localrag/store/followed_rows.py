"""What is followed on the disk, as plain frozen data: roots, and the places of a document's content."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Where a file with a document's content lies."""

    root: str
    """The folder that the path starts from."""

    path: str
    """Path relative to the root, with forward slashes."""

    size: int
    """Bytes of the file."""

    mtime: float
    """Time of the file's last change as it was noted, seconds since the epoch."""

    @property
    def full(self) -> str:
        """Root and path in one, which is what tells two places apart."""
        return full_path(self.root, self.path)


@dataclass(frozen=True)
class RootRow:
    """A folder that is followed."""

    path: str
    """Absolute path of the folder."""

    include: tuple[str, ...] = ()
    """Patterns of the files that are taken; empty takes all."""

    exclude: tuple[str, ...] = ()
    """Patterns of what is left out."""

    gitignore: bool = True
    """Whether `.gitignore` files in it are respected."""

    synced_at: str = ""
    """When it was last compared as a whole, UTC, ISO 8601; empty if never."""


def full_path(root: str, path: str) -> str:
    """Root and relative path joined."""
    return f"{root.rstrip('/')}/{path}"
