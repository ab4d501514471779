"""Tests of `localrag claims`."""

from __future__ import annotations

from pathlib import Path

import pytest

from localrag.engine.scripted import ScriptedModel
from localrag.runlock import only_run
from localrag.store.database import Store
from localrag.store.report_rows import NewClaim
from localrag.store.rows import GenerationRow
from tests.cli.conftest import Run, Scripted, json_of

TEXTS = {
    "a.txt": "Norvell Shipping was fined in June 2014. Karin Voss denies the fine \x1b[31mred.",
    "b.txt": "Karin Voss left Norvell Shipping in 2016. The fine was paid by Karin Voss.",
}


@pytest.fixture
def claimed(run: Run, scripted: Scripted, folder: Path) -> Path:
    """Two texts, read with their claims."""
    scripted.model = ScriptedModel()
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    run("init", "n")
    run("add", *TEXTS)
    run("index")
    said = run("claims", "extract").stderr
    assert "claims in 2 passages" in said
    assert "Next: localrag claims list" in said
    return folder / "n.localrag"


def test_claims_are_listed_by_time_with_their_place(run: Run, claimed: Path) -> None:
    lines = run("claims", "list").stdout.splitlines()
    assert any("2014-06-01 – 2014-06-30" in line and "a.txt, passage 1" in line for line in lines)
    assert "2016" in run("claims", "list", "--from", "2015").stdout
    assert "2014" not in run("claims", "list", "--from", "2015").stdout
    rows = json_of(run("claims", "list", "--status", "true", "--document", "b.txt", "--json"))["claims"]
    assert {(row["status"], row["document"]) for row in rows} == {("TRUE", "b.txt")}
    assert rows[0]["quotes"] == ["Karin Voss left Norvell Shipping in 2016."]
    assert "These are the first 1;" in run("claims", "list", "--limit", "1").stderr


def test_a_list_shows_the_first_quote_and_show_has_all(run: Run, claimed: Path) -> None:
    lines = run("claims", "list").stdout.splitlines()
    place = next(number for number, line in enumerate(lines) if "2016" in line)
    assert lines[place + 1 : place + 3] == [
        "    It is so.",
        "    “Karin Voss left Norvell Shipping in 2016.”",
    ]
    rows = json_of(run("claims", "timeline", "karin voss", "--json"))["claims"]
    told = run("claims", "show", str(rows[0]["id"])).stdout
    for fact in ("About", "Status", "Karin Voss left Norvell Shipping in 2016.", "b.txt, passage 1"):
        assert fact in told
    assert json_of(run("claims", "show", str(rows[0]["id"]), "--json")) == rows[0]
    assert "There is no claim 99" in run("claims", "show", "99", code=2).stderr


@pytest.mark.parametrize(
    ("words", "sentence", "hint"),
    [
        (["extract", "--entities", "Karin Vos"], "no entity “Karin Vos”, and no type", "Karin Voss"),
        (["extract", "--entities", " , "], "names no entity", "Leave --entities out"),
        (["extract", "--entities", ""], "names no entity", "Leave --entities out"),
        (["extract", "--folder", "nope"], "No text lies in the folder", "localrag status"),
        (["extract", "--folder", ""], "is no folder", "Leave --folder out"),
        (["extract", "--tag", "nope"], "No document has the tag", "localrag tag"),
        (["list", "--entity", ""], "There is no entity", "localrag entities list"),
        (["contradictions", "--entity", ""], "There is no entity", "localrag entities list"),
        (["list", "--from", "2020", "--to", "1990"], "'1990' ends before '2020' begins", "Exchange"),
        (["list", "--to", ""], "'' is no time", "for example"),
        (["list", "--type", ""], "no type of claims", "Leave --type out"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    run: Run, claimed: Path, words: list[str], sentence: str, hint: str
) -> None:
    before = json_of(run("claims", "sets", "--json"))
    said = run("claims", *words, code=2).stderr
    assert sentence in said
    assert hint in said
    assert json_of(run("claims", "sets", "--json")) == before


def test_while_another_program_indexes_claims_say_busy_before_nothing_read(
    run: Run, scripted: Scripted, folder: Path
) -> None:
    run("init", "n")
    with only_run(folder / "n.localrag"):
        assert "by another program" in run("claims", "extract", code=4).stderr
    assert "Next: localrag index" in run("claims", "extract", code=3).stderr


def test_no_text_reaches_the_terminal_as_it_is(run: Run, claimed: Path) -> None:
    for words in (
        ["list"],
        ["list", "--json"],
        ["contradictions"],
        ["show", "1"],
        ["timeline", "karin voss"],
    ):
        assert "\x1b" not in run("claims", *words).stdout


def test_a_timeline_is_about_one_entity(run: Run, claimed: Path) -> None:
    assert "Norvell Shipping" in run("claims", "timeline", "Norvell Shipping").stdout
    told = json_of(run("claims", "timeline", "karin voss", "--json"))
    assert told["entity"]["name"] == "Karin Voss"
    assert all("Karin Voss" in (row["subject"], row["object"]) for row in told["claims"])
    assert "There is no entity" in run("claims", "timeline", "Nobody", code=2).stderr


def test_contradictions_show_both_sides_with_their_words(run: Run, claimed: Path) -> None:
    run("claims", "drop", "1")
    assert "No claims disagree." in run("claims", "contradictions").stderr
    claimed.with_name("c.txt").write_text("Norvell Shipping never sailed.", encoding="utf-8")
    run("add", "c.txt")
    run("index")
    call = GenerationRow("claims/other", "", "", "{}", 0, 0, 0, "stop", "")
    with Store.open(claimed) as store:
        for document, status, quote in ((1, "TRUE", (0, 40)), (3, "FALSE", (0, 30))):
            (chunk,) = store.chunks.of_document(document)
            said = NewClaim("norvell shipping", "LEFT", status, "It left.", (quote,))  # type: ignore[arg-type]
            assert store.claims.record(chunk.id, [said], call)
    told = run("claims", "contradictions").stdout
    assert "Norvell Shipping: LEFT (status differ)" in told
    assert "TRUE      undated  a.txt, passage 1" in told
    assert "“Norvell Shipping was fined in June 2014.”" in told
    assert "“Norvell Shipping never sailed.”" in told
    pairs = json_of(run("claims", "contradictions", "--json"))["contradictions"]
    assert pairs[0]["first"]["type"] == pairs[0]["second"]["type"]
    assert pairs[0]["differs"]


def test_documents_and_entities_by_claims(run: Run, claimed: Path) -> None:
    assert "a.txt" in run("claims", "documents").stdout
    rows = json_of(run("claims", "documents", "--status", "SUSPECTED", "--json"))["documents"]
    assert all(row["claims"] for row in rows)
    assert "Norvell Shipping" in run("claims", "entities", "--status", "TRUE").stdout
    said = run("claims", "documents", "--type", "none").stderr
    assert "No claim has the type “none”; there are CLAIM." in said
    assert "No claim is like that." in run("claims", "list", "--from", "1066", "--to", "1067").stderr
    assert "no status" in run("claims", "entities", "--status", "maybe", code=2).stderr


def test_other_options_make_another_set(run: Run, claimed: Path) -> None:
    assert "was read for these claims before" in run("claims", "extract").stderr
    report = json_of(
        run(
            "claims",
            "extract",
            "--entities",
            "Karin Voss, Norvell Shipping",
            "--about",
            "fines",
            "--type",
            "fine",
            "--json",
        )
    )
    assert report["claims"] > 0
    assert report["failures"] == []
    (_, second) = json_of(run("claims", "sets", "--json"))["sets"]
    assert (second["entities"], second["types"]) == (["Karin Voss", "Norvell Shipping"], ["FINE"])
    assert "fines" in run("claims", "sets").stdout
    assert json_of(run("claims", "drop", "2", "--json")) == {"claims": report["claims"]}
    assert "There is no set 2" in run("claims", "drop", "2", code=2).stderr


def test_a_passage_that_fails_is_told_and_counts_as_partly_done(
    run: Run, scripted: Scripted, claimed: Path
) -> None:
    scripted.model = ScriptedModel(fail=lambda request: any("2016" in m.text for m in request.messages))
    said = run("claims", "extract", "--again", code=5).stderr
    assert "b.txt, passage 1: scripted failure" in said
    assert "1 passage could not be read" in said


def test_without_anything_read_it_says_what_to_do(run: Run, scripted: Scripted) -> None:
    run("init", "n")
    said = run("claims", "extract", code=3).stderr
    assert "localrag index" in said
    assert "There are no claims yet" in run("claims", "list").stderr
    assert json_of(run("claims", "list", "--json")) == {"claims": []}


def test_the_index_reads_claims_with_an_option(run: Run, scripted: Scripted, folder: Path) -> None:
    scripted.model = ScriptedModel()
    (folder / "a.txt").write_text(TEXTS["a.txt"], encoding="utf-8")
    run("init", "n")
    run("add", "a.txt")
    assert "claims read." in run("index", "--claims").stderr
    assert json_of(run("claims", "list", "--json"))["claims"]
