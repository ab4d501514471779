"""Decides which names mean the same: first within each document, then over all of them.

A document says more than a list of names: where it calls somebody Sherlock Holmes and nobody else Holmes,
its Holmes is he. So each document is looked at by itself (`within_document.py`), and what is found there
follows from this document alone. Over all documents (`over_all.py`) a name follows what the documents that
tell agree on, and a few ways that need no document. What is decided about two names depends on these two, on
the names that share a feature with one of them, and on the documents that hold one of them; so a new document
changes little, and what is left after a deletion is what would be there without it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from localrag.graph.links import CROWD, LIKELY, SURE, VERSION, Link, Passage, features_of, flat
from localrag.graph.name_relations import Kind, Profile
from localrag.graph.over_all import Corpus, over_all
from localrag.graph.within_document import alike_in, profiles_of, within_document

__all__ = [
    "CROWD",
    "LIKELY",
    "SURE",
    "VERSION",
    "Corpus",
    "Link",
    "Passage",
    "clusters",
    "features_of",
    "flat",
    "over_all",
    "within_document",
]


def clusters(passages: Sequence[Passage]) -> list[dict[str, str]]:
    """For each passage the name, folded, that each of its folded names means, after all merges.

    The same as a knowledge base makes of these passages, without one.
    """
    documents: dict[object, list[Passage]] = defaultdict(list)
    for passage in passages:
        documents[passage.document].append(passage)
    inside = {document: within_document(items) for document, items in documents.items()}
    corpus = _Memory(passages, inside)
    links = [link for link in over_all(corpus, corpus.profiles) if link.sure]
    everywhere = {link.key: link.into for link in flat(links)}
    own = {document: {link.key: link.into for link in found} for document, found in inside.items()}
    return [
        {
            key: everywhere.get(meant, meant)
            for key, _, _ in passage.mentions
            for meant in [own[passage.document].get(key, key)]
        }
        for passage in passages
    ]


class _Memory:
    """A corpus in memory."""

    def __init__(self, passages: Sequence[Passage], inside: Mapping[object, Sequence[Link]]) -> None:
        self.profiles = profiles_of(passages)
        self.alike = alike_in(self.profiles)
        self._documents: dict[str, set[object]] = defaultdict(set)
        self._neighbours: dict[str, set[str]] = defaultdict(set)
        for passage in passages:
            for key, _, _ in passage.mentions:
                self._documents[key].add(passage.document)
            for one, other in passage.pairs:
                self._neighbours[one].add(other)
                self._neighbours[other].add(one)
        self._votes: dict[str, dict[str, list[tuple[Kind, bool]]]] = defaultdict(lambda: defaultdict(list))
        self._voters: dict[str, set[str]] = defaultdict(set)
        for links in inside.values():
            for link in links:
                self._votes[link.key][link.into].append((link.kind, link.said))
                self._voters[link.into].add(link.key)

    def profile(self, key: str) -> Profile | None:
        """See `Corpus`."""
        return self.profiles.get(key)

    def votes(self, key: str) -> Mapping[str, Sequence[tuple[Kind, bool]]]:
        """See `Corpus`."""
        return self._votes.get(key, {})

    def voters(self, key: str) -> Collection[str]:
        """See `Corpus`."""
        return self._voters.get(key, ())

    def together(self, one: str, other: str) -> int:
        """See `Corpus`."""
        return len(self._documents[one] & self._documents[other])

    def neighbours(self, key: str) -> Collection[str]:
        """See `Corpus`."""
        return self._neighbours.get(key, ())
