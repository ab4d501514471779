"""Claims on demand and at index time: read once, kept as they come, gone with what they rest on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from localrag.claiming import ClaimEvent, Wanted
from localrag.engine.scripted import ScriptedEmbedder, ScriptedModel
from localrag.engine.types import GenerationRequest
from localrag.engines import Engines
from localrag.errors import KnowledgeBaseBusy, KnowledgeBaseReadOnly, SettingsError, UsageError
from localrag.extraction.claims import ClaimReader
from localrag.indexing import Budget, ClaimsFailed, ClaimsRead, ClaimsStarted, Finished
from localrag.indexing.claim_events import ClaimsFinished, ClaimsReport
from localrag.kb import KnowledgeBase
from localrag.runlock import only_run
from localrag.sections import ClaimSettings
from localrag.settings import Settings
from localrag.store.filters import Filter
from localrag.store.rows import ChunkRow

TEXTS = {
    "a.txt": "Norvell Shipping was fined in June 2014. Karin Voss denies the fine.",
    "b.txt": "Karin Voss left Norvell Shipping in 2016. The fine was paid by Karin Voss.",
    "c.txt": "Nothing here has a name, as it happens.",
}


class Model(ScriptedModel):
    """Obeys every program; `broken` are parts of prompts whose claims cannot be read."""

    def __init__(self, *broken: str, **options: Any) -> None:
        super().__init__(fail=lambda request: self.fails(request, broken), **options)

    @staticmethod
    def fails(request: GenerationRequest, broken: tuple[str, ...]) -> bool:
        return request.task.startswith("claims/") and any(
            p in m.text for p in broken for m in request.messages
        )

    @property
    def claimed(self) -> int:
        """How often it was asked for claims."""
        return sum(call.task.startswith("claims/") for call in self.calls)


def opened(path: Path, model: ScriptedModel, settings: Settings | None = None) -> KnowledgeBase:
    settings = settings or Settings()
    engines = Engines(settings, model, ScriptedEmbedder())
    make = KnowledgeBase.open if path.exists() else KnowledgeBase.create
    return make(path, settings=settings, engines=engines)


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    """Three read texts."""
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    with opened(tmp_path / "k.localrag", Model()) as found:
        found.add([tmp_path / name for name in TEXTS])
        list(found.index())
        yield found


def report_of(events: list[ClaimEvent]) -> ClaimsReport:
    assert isinstance(events[-1], ClaimsFinished)
    return events[-1].report


def test_claims_are_read_once_and_again_only_if_asked_for(kb: KnowledgeBase) -> None:
    events = list(kb.extract_claims())
    report = report_of(events)
    assert isinstance(events[0], ClaimsStarted)
    assert (report.failed, report.rejects, report.left, report.cancelled) == (0, 0, 0, False)
    assert report.claims == sum(event.claims for event in events if isinstance(event, ClaimsRead)) > 2
    claims = kb.claims.list(limit=99)
    assert len(claims) == report.claims
    for row in claims:
        text = kb.document_text(row.document_id)
        assert row.claim.quotes == tuple(text[slice(*span)] for span in row.spans)
    assert report_of(list(kb.extract_claims())).read == 0
    again = report_of(list(kb.extract_claims(Wanted(again=True))))
    assert (again.read, again.claims) == (report.read, report.claims)
    assert len(kb.claims.list(limit=99)) == report.claims
    totals = kb.status().journal
    assert totals.parsed == totals.stored + totals.rejected


def test_sets_stand_side_by_side_and_can_be_dropped(kb: KnowledgeBase) -> None:
    everything = report_of(list(kb.extract_claims()))
    wanted = Wanted(("Karin Voss",), "fines", ("fine",))
    some = report_of(list(kb.extract_claims(wanted)))
    assert some.claims
    sets = kb.claims.sets()
    assert [(row.number, row.entities, row.about, row.types) for row in sets] == [
        (1, (), ClaimSettings().description, ()),
        (2, ("Karin Voss",), "fines", ("FINE",)),
    ]
    assert {row.claim.subject for row in kb.claims.list(types=["fine"], limit=99)} == {"Karin Voss"}
    assert kb.claims.drop(2) == some.claims
    assert len(kb.claims.list(limit=99)) == everything.claims
    assert report_of(list(kb.extract_claims(wanted))).claims == some.claims
    with pytest.raises(UsageError, match="no set 9"):
        kb.claims.drop(9)


def test_a_filter_narrows_what_is_read(kb: KnowledgeBase) -> None:
    document = kb.claims.document("b.txt")
    report = report_of(list(kb.extract_claims(Wanted(filter=Filter(documents=(document,))))))
    assert report.read == 1
    assert {row.document for row in kb.claims.list(limit=99)} == {"b.txt"}
    assert report_of(list(kb.extract_claims())).read >= 1


def test_nobody_to_claim_of_costs_no_call(tmp_path: Path, kb: KnowledgeBase) -> None:
    model = Model()
    # The settings may name what no text holds yet.
    settings = replace(Settings(), claims=ClaimSettings(entity_specs=("planet",)))
    with opened(kb.path, model, settings) as other:
        report = report_of(list(other.extract_claims()))
        assert report.read >= 2
        assert report_of(list(other.extract_claims())).read == 0
    assert model.claimed == 0


def test_a_passage_that_fails_stops_no_other_and_is_tried_again(kb: KnowledgeBase) -> None:
    with opened(kb.path, Model("denies the fine")) as broken:
        events = list(broken.extract_claims())
        report = report_of(events)
        (failed,) = [event for event in events if isinstance(event, ClaimsFailed)]
        assert (failed.document, report.failed, report.left) == ("a.txt", 1, 1)
        assert report.claims
    report = report_of(list(kb.extract_claims()))
    assert (report.read, report.left) == (1, 0)


@pytest.mark.parametrize("step", ["request", "read"])
def test_an_error_that_nobody_foresaw_is_the_failure_of_one_passage(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    honest = getattr(ClaimReader, step)

    def broken(self: ClaimReader, source: ChunkRow, *rest: Any) -> Any:
        if "denies the fine" in source.text:
            raise RuntimeError("out of order")
        return honest(self, source, *rest)

    monkeypatch.setattr(ClaimReader, step, broken)
    events = list(kb.extract_claims())
    (failed,) = [event for event in events if isinstance(event, ClaimsFailed)]
    assert failed.reason == "An error that nobody foresaw: RuntimeError: out of order"
    assert report_of(events).claims
    monkeypatch.undo()
    assert report_of(list(kb.extract_claims())).left == 0


def test_a_run_that_is_stopped_goes_on(kb: KnowledgeBase) -> None:
    stop = threading.Event()
    with opened(kb.path, Model()) as other:
        events = []
        for event in other.extract_claims(cancel=stop):
            events.append(event)
            if isinstance(event, ClaimsRead):
                stop.set()
        report = report_of(events)
    assert (report.read, report.cancelled) == (1, True)
    assert report.left
    rest = report_of(list(kb.extract_claims()))
    assert (rest.read, rest.left) == (report.left, 0)


def test_closing_the_iterator_keeps_what_was_read(kb: KnowledgeBase) -> None:
    events = kb.extract_claims()
    while not isinstance(next(events), ClaimsRead):
        pass
    events.close()
    assert kb.claims.list()
    assert report_of(list(kb.extract_claims())).left == 0


def test_deleting_a_document_takes_its_claims(kb: KnowledgeBase) -> None:
    list(kb.extract_claims())
    assert any(row.document == "b.txt" for row in kb.claims.list(limit=99))
    kept = [row for row in kb.claims.list(limit=99) if row.document != "b.txt"]
    kb.delete("b.txt")
    assert kb.claims.list(limit=99) == kept


def test_only_one_program_reads_claims(kb: KnowledgeBase) -> None:
    with only_run(kb.path, "read for claims"), pytest.raises(KnowledgeBaseBusy, match="read for claims"):
        list(kb.extract_claims())


def test_what_cannot_be_done_is_told_at_once(kb: KnowledgeBase) -> None:
    with pytest.raises(SettingsError, match="claim type"):
        kb.extract_claims(Wanted(types=("a<b",)))
    for unknown, sentence in (
        (Wanted(("Karin Vos",)), "no entity “Karin Vos”, and no type"),
        (Wanted(("Karin Voss", "planet")), "no entity “planet”"),
        (Wanted(filter=Filter(folder="nowhere")), "No text lies in the folder “nowhere”"),
        (Wanted(filter=Filter(tags=("red",))), "No document has the tag “red”"),
    ):
        with pytest.raises(UsageError, match=sentence):
            kb.extract_claims(unknown)
    assert not kb.claims.sets()
    with KnowledgeBase.open(kb.path, read_only=True) as locked:
        with pytest.raises(KnowledgeBaseReadOnly):
            locked.extract_claims()
        with pytest.raises(KnowledgeBaseReadOnly):
            locked.claims.drop(1)
    for wrong in (
        {"since": "soon"},
        {"statuses": ["PERHAPS"]},
        {"entity": "Nobody"},
        {"entity": ""},
        {"since": ""},
        {"since": "2020", "until": "1990"},
        {"types": [" "]},
        {"documents": ["z.txt"]},
    ):
        with pytest.raises(UsageError):
            kb.claims.list(**wrong)


def test_an_entity_a_type_a_folder_and_a_tag_that_are_there_are_taken(kb: KnowledgeBase) -> None:
    (document,) = [row for row in kb.status().documents if row.path.endswith("b.txt")]
    kb.tags.add("red", ["b.txt"])
    kind = kb.entities.list("Karin Voss")[0].type
    for wanted in (
        Wanted(("karin  VOSS",)),
        Wanted((kind.upper(),)),
        Wanted(filter=Filter(tags=("RED",))),
        Wanted(filter=Filter(folder=document.path)),
    ):
        assert report_of(list(kb.extract_claims(wanted))).read
        for row in kb.claims.sets():
            kb.claims.drop(row.number)


def test_the_sentence_for_an_empty_list_says_why(kb: KnowledgeBase) -> None:
    assert "There are no claims yet" in kb.claims.why_none(["fine"], narrowed=True)
    list(kb.extract_claims(Wanted(types=("fine",))))
    assert kb.claims.why_none(["Fine", "lost"]) == "No claim has the type “lost”; there are FINE."
    assert kb.claims.why_none(["Fine"], narrowed=True) == "No claim is like that."
    (row, *_) = kb.claims.list()
    assert kb.claims.get(row.claim.id) == row
    with pytest.raises(UsageError, match="no claim 999"):
        kb.claims.get(999)


def test_times_of_a_list_are_read_as_people_write_them(kb: KnowledgeBase) -> None:
    list(kb.extract_claims())
    found = kb.claims.list(since="2014", until="December 2014", limit=99)
    assert {(row.claim.start_date, row.claim.end_date) for row in found} == {("2014-06-01", "2014-06-30")}


def test_the_index_reads_claims_if_the_settings_say_so(tmp_path: Path, kb: KnowledgeBase) -> None:
    settings = replace(Settings(), claims=ClaimSettings(at_index=True))
    with opened(kb.path, Model(), settings) as other:
        events = list(other.index())
        assert any(isinstance(event, ClaimsStarted) for event in events)
        assert isinstance(events[-1], Finished)
        report = events[-1].report
        assert report.claims == len(other.claims.list(limit=99)) > 2
        # They are there now, for the same specification on demand too.
        assert not any(isinstance(event, ClaimsStarted) for event in other.index())
        assert report_of(list(other.extract_claims())).read == 0
    with opened(
        kb.path, Model(), replace(settings, claims=ClaimSettings(at_index=True, types=("x y",)))
    ) as other:
        list(other.index())
        assert len(other.claims.sets()) == 2


def test_a_budget_holds_for_claims_too(kb: KnowledgeBase) -> None:
    settings = replace(Settings(), claims=ClaimSettings(at_index=True))
    model = Model()
    with opened(kb.path, model, settings) as other:
        *_, last = other.index(budget=Budget(tokens=1))
        assert isinstance(last, Finished)
        assert last.report.reason == "tokens"
    # The first passage is begun whatever it takes, see `Meter`; no other.
    assert model.claimed == 1
