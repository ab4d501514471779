"""Claims of passages are read by the product's own reader and counted."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import cast

import pytest

from localrag.bench.extraction_claims import is_verbatim, read_claims
from localrag.bench.extraction_data import GoldItem
from localrag.bench.extraction_run import Passage
from localrag.bench.extraction_scores import FoundItem
from localrag.engine.types import Event, Generation, GenerationRequest, LanguageModel
from localrag.errors import Cancelled
from localrag.extraction.claims import ClaimReader
from localrag.graph.names import fold
from localrag.sections import ClaimSettings, ExtractionSettings
from localrag.store.rows import EntityMention
from tests.extraction.support import chunk

TEXT = "Ada Lund bought the mill in 1923. Piet Koster denies that he sold it."
GOOD = "(ADA LUND<|>PIET KOSTER<|>PURCHASE<|>TRUE<|>NONE<|>NONE<|>She bought the mill.<|>1)##\n"
UNKNOWN = "(EVE<|>NONE<|>PURCHASE<|>TRUE<|>NONE<|>NONE<|>She bought it.<|>1)##\n"
LOOP = "(ADA LUND<|>NONE<|>SALE<|>TRUE<|>NONE<|>NONE<|>sold and sold and sold and sold and sold and sold and "


class Scripted:
    """Answers each request with the next of some texts."""

    def __init__(self, *answers: tuple[str, str]) -> None:
        self._answers = list(answers)
        self.asked: list[GenerationRequest] = []

    def run(self, requests: Iterable[GenerationRequest]) -> Iterator[tuple[int, Event]]:
        for index, request in enumerate(requests):
            self.asked.append(request)
            text, finish = self._answers[index]
            yield index, Generation(text, (), finish, 1, 0, 5, 0, 1, "", "")  # type: ignore[arg-type]


def passage(*names: str) -> Passage:
    mentions = tuple(EntityMention(name, fold(name), "person", "") for name in names)
    item = GoldItem("h", TEXT, "", (), frozenset())
    return Passage(item, FoundItem("h"), mentions, (), (), "", (), (), ((chunk(TEXT, "en"), mentions),))


READER = ClaimReader(ClaimSettings(), ExtractionSettings())


def test_what_came_of_the_claims_is_counted() -> None:
    model = Scripted((GOOD + UNKNOWN + "<|COMPLETE|>", "stop"), (LOOP, "length"), ("", "stop"))
    passages = [passage("Ada Lund", "Piet Koster"), passage("Ada Lund"), passage(), passage("Ada Lund")]
    counts = read_claims(cast(LanguageModel, model), passages, READER)
    # A passage without entities is not asked about.
    assert len(model.asked) == counts.calls == 3
    assert (counts.claims, counts.quotes, counts.verbatim) == (1, 1, 1)
    # One about nobody of the passage, and one that was cut off.
    assert counts.rejects == 2
    assert (counts.failed, counts.cut, counts.runaway) == (1, 1, 1)
    assert counts.output_tokens == 15
    assert counts.as_json()["quotes_verbatim"] == 1.0


def test_without_quotes_nothing_is_told_of_them() -> None:
    counts = read_claims(
        cast(LanguageModel, Scripted(("<|COMPLETE|>", "stop"))), [passage("Ada Lund")], READER
    )
    assert counts.claims == 0
    assert counts.as_json()["quotes_verbatim"] is None


def test_it_can_be_stopped() -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(Cancelled):
        read_claims(cast(LanguageModel, Scripted((GOOD, "stop"))), [passage("Ada Lund")], READER, stop)


@pytest.mark.parametrize(
    ("span", "right"), [((0, 3), True), ((0, 6), False), ((2, 2), False), ((-1, 2), False), ((3, 5), False)]
)
def test_what_is_verbatim(span: tuple[int, int], right: bool) -> None:
    assert is_verbatim("Ada .", span) is right
