"""Files to text with offsets: finding them, decoding, reading, and cutting into sentences and chunks."""

from __future__ import annotations

from localrag.documents.chunking import ChunkSpan, chunk
from localrag.documents.decoding import Decoded, decode
from localrag.documents.discovery import Discovery, FoundFile, Skipped, discover
from localrag.documents.language import detect
from localrag.documents.reading import Document, Heading, read
from localrag.documents.sentences import split
from localrag.documents.tokens import estimate

__all__ = [
    "ChunkSpan",
    "Decoded",
    "Discovery",
    "Document",
    "FoundFile",
    "Heading",
    "Skipped",
    "chunk",
    "decode",
    "detect",
    "discover",
    "estimate",
    "read",
    "split",
]
