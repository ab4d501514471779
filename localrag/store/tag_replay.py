"""What the active decisions make of a document's tags: pure, and replayed in their order."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from localrag.store.curation_rows import AddTag, Decision, Place, RemoveTag, TagDecision


def folded(tag: str) -> str:
    """A tag as it is compared: without case, width and further blanks."""
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", tag).casefold()).split())


class TagSteps:
    """The decisions about tags, found by the documents that they name."""

    def __init__(self, decisions: Sequence[tuple[int, Decision]] = ()) -> None:
        """`decisions` with their ids, the active ones in their order."""
        self._by_path: dict[tuple[str, str], dict[int, tuple[int, TagDecision]]] = {}
        self._by_hash: dict[str, dict[int, tuple[int, TagDecision]]] = {}
        for order, (decision_id, decision) in enumerate(decisions):
            if isinstance(decision, AddTag | RemoveTag):
                document = decision.document
                step = (decision_id, decision)
                self._by_path.setdefault((document.root, document.path), {})[order] = step
                if document.sha256:
                    self._by_hash.setdefault(document.sha256, {})[order] = step

    @property
    def empty(self) -> bool:
        """Whether nothing was decided about tags."""
        return not self._by_path

    def of(self, place: Place) -> dict[str, tuple[str, int]]:
        """The tags of a document by their folded names: as it was typed, and the decision that gave it."""
        steps = dict(self._by_hash.get(place.sha256, {})) if place.sha256 else {}
        for path in place.paths:
            steps |= self._by_path.get(path, {})
        found: dict[str, tuple[str, int]] = {}
        for order in sorted(steps):
            decision_id, decision = steps[order]
            if isinstance(decision, AddTag):
                found[folded(decision.tag)] = (decision.tag, decision_id)
            else:
                found.pop(folded(decision.tag), None)
        return found
