"""Tests of `localrag entities`, `relations`, `aliases` and `tag`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run, json_of


def test_entities_are_listed_and_shown(run: Run, read_kb: Path) -> None:
    listed = run("entities", "list", "--search", "lind").stdout
    assert "Marta Lind" in listed
    assert "Halden" not in listed.replace("Marta Lind built the Halden Bridge", "")
    rows = json_of(run("entities", "list", "--type", "Person", "--limit", "1", "--json"))["entities"]
    assert [(row["name"], row["passages"]) for row in rows] == [("Marta Lind", 2)]
    shown = run("entities", "show", "marta lind").stdout
    assert "Written as   Marta Lind (2 mentions)" in shown
    assert "mill.txt" in shown
    view = json_of(run("entities", "show", "marta lind", "--json"))
    assert view["variants"]["names"] == [{"text": "Marta Lind", "mentions": 2}]
    assert view["relations"][0]["target"] in ("Halden Bridge", "Marta Lind")
    assert "No entity is like that." in run("entities", "list", "--search", "zzz").stderr


def test_a_decision_says_what_it_did_and_how_to_take_it_back(run: Run, read_kb: Path) -> None:
    told = run("entities", "merge", "Ida Lind", "--into", "Marta Lind").stderr
    assert "Merge “Ida Lind” into “Marta Lind”. 1 mention and 1 mention of relations moved." in told
    assert "Take it back: localrag entities undo 1" in told
    assert "Ida Lind (1 mention)" in run("entities", "show", "ida lind").stdout
    log = run("entities", "log").stdout
    assert "holds" in log
    assert "Taken back, decision 1" in run("entities", "undo").stderr
    assert "undone" in run("entities", "log").stdout
    assert "no decision to take back" in run("entities", "undo", code=2).stderr
    assert "taken back already" in run("entities", "undo", "1", code=2).stderr


def test_every_decision_about_entities_in_json(run: Run, read_kb: Path) -> None:
    calls = (
        ("merge", "Ida Lind", "--into", "Marta Lind"),
        ("split", "Marta Lind", "--into", "Other", "--document", "mill.txt", "--name", "Ida Lind"),
        ("rename", "Other", "Ida L."),
        ("retype", "Ida L.", "child"),
        ("edit", "Ida L.", "--description", "Her daughter."),
        ("delete", "Ida L."),
    )
    for number, words in enumerate(calls, 1):
        made = json_of(run("entities", *words, "--json"))
        assert (made["id"], made["kind"]) == (number, f"entity.{words[0]}")
    decisions = json_of(run("entities", "log", "--json"))["decisions"]
    assert [entry["kind"] for entry in decisions] == [f"entity.{words[0]}" for words in calls]
    for number in (6, 5, 4, 3, 2, 1):
        assert json_of(run("entities", "undo", "--json"))["id"] == number
    assert "in order" in run("verify").output


def test_relations(run: Run, read_kb: Path) -> None:
    assert "construction" in run("relations", "list", "--entity", "Marta Lind").stdout
    assert "bridge.md" in run("relations", "show", "Marta Lind", "Halden Bridge").stdout
    run("relations", "reverse", "Marta Lind", "Halden Bridge")
    run("relations", "merge", "Halden Bridge", "Marta Lind", "--into", "Tomas Berg", "Halden Bridge")
    run(
        *("relations", "split", "Tomas Berg", "Halden Bridge", "--into", "Marta Lind", "Kvern Works"),
        *("--keyword", "construction"),
    )
    run("relations", "edit", "Marta Lind", "Kvern Works", "--keywords", "steel")
    shown = json_of(run("relations", "show", "Marta Lind", "Kvern Works", "--json"))
    assert (shown["keywords"], shown["documents"]) == ("steel", ["bridge.md"])
    told = run("relations", "delete", "Marta Lind", "Kvern Works").stderr
    assert "Take it back: localrag relations undo 5" in told
    assert len(json_of(run("relations", "log", "--json"))["decisions"]) == 5
    assert "lacks its target" in run("relations", "merge", "A", "--into", "B", "C", code=2).stderr
    missing = run("relations", "show", "Halden Bridge", "Marta Lind", code=2).stderr
    assert "There is no relation “Halden Bridge” → “Marta Lind”." in missing
    run("relations", "undo")


def test_aliases(run: Run, read_kb: Path) -> None:
    assert "no aliases" in run("aliases", "list").stderr
    run("aliases", "add", "Marta Lind", "the builder")
    assert "decision 1" in run("aliases", "list", "Marta Lind").stdout
    assert json_of(run("aliases", "list", "--json"))["aliases"][0]["name"] == "the builder"
    run("aliases", "remove", "Marta Lind", "builder")
    assert json_of(run("aliases", "list", "--json"))["aliases"] == []
    run("aliases", "undo")
    assert "merge them" in run("aliases", "add", "Marta Lind", "Ida Lind", code=2).stderr


def test_tags(run: Run, read_kb: Path) -> None:
    assert "tagged with “Work”" in run("tag", "add", "Work", "bridge.md", "mill.txt").stderr
    assert "carried it already" in run("tag", "add", "WORK", "mill.txt").stderr
    assert "Work" in run("tag", "list", "mill.txt").stdout
    assert "no longer" in run("tag", "remove", "work", "mill.txt").stderr
    assert json_of(run("tag", "list", "--json")) == {"tags": [{"tag": "Work", "documents": ["bridge.md"]}]}
    assert "no document “gone.md”" in run("tag", "add", "x", "gone.md", code=2).stderr


@pytest.mark.parametrize("name", ["\x1b[31mred", "“”", "-" * 3, "%s{}", "a\nb"])
def test_odd_names_are_only_text(run: Run, read_kb: Path, name: str) -> None:
    result = run("entities", "rename", "Marta Lind", "--", name, code=None)
    assert result.exit_code in (0, 2)
    assert "\x1b[31m" not in result.stderr
    assert "\x1b[31m" not in run("entities", "log").stdout


def test_documents_are_named_from_the_present_folder(run: Run, library: Path) -> None:
    run("init", "n")
    run("add", "library")
    assert "mill.txt: tagged" in run("tag", "add", "work", "library/mill.txt").stderr
    assert "carried it already" in run("tag", "add", "work", "./library/../library/mill.txt").stderr
    assert "work" in run("tag", "list", "library/mill.txt").stdout


def test_a_tag_and_its_document_the_other_way_round(run: Run, read_kb: Path) -> None:
    said = run("tag", "add", "mill.txt", "work", code=2).stderr
    assert "no document “work”" in said
    assert "The tag comes first" in said
    assert "The tag comes first" not in run("tag", "add", "work", "gone.txt", code=2).stderr


@pytest.mark.parametrize("what", ["entities", "relations", "aliases"])
def test_a_list_that_is_not_whole_says_so(run: Run, read_kb: Path, what: str) -> None:
    for name in ("the builder", "the engineer"):
        run("aliases", "add", "Marta Lind", name)
    short = run(what, "list", "--limit", "1")
    assert "These are the first 1; --limit shows more." in short.stderr
    assert len(json_of(run(what, "list", "--limit", "1", "--json"))[what]) == 1
    whole = run(what, "list", "--limit", str(len(json_of(run(what, "list", "--json"))[what])))
    assert "--limit" not in whole.stderr


@pytest.mark.parametrize("words", [("entities", "rename"), ("aliases", "add")])
def test_a_name_that_reads_as_a_number_is_refused(run: Run, read_kb: Path, words: tuple[str, ...]) -> None:
    assert "means the entity with that number" in run(*words, "Marta Lind", " #3", code=2).stderr
    run(*words, "Marta Lind", "#3 of the list")


def test_a_number_without_its_sign_is_understood(run: Run, read_kb: Path) -> None:
    assert "write '#1', in quotes" in run("entities", "show", "1", code=2).stderr
    assert "in quotes" not in run("entities", "show", "99999", code=2).stderr


def test_a_hint_can_be_pasted(run: Run, read_kb: Path) -> None:
    said = run("aliases", "add", "Marta Lind", "Ida Lind", code=2).stderr
    assert "localrag entities merge 'Marta Lind' --into 'Ida Lind'" in said
    run("aliases", "add", "Marta Lind", "the builder")
    said = run("aliases", "add", "Ida Lind", "the builder", code=2).stderr
    assert "“the builder” means “Marta Lind” already." in said


def test_the_log_of_aliases(run: Run, read_kb: Path) -> None:
    run("entities", "retype", "Ida Lind", "child")
    run("aliases", "add", "Marta Lind", "the builder")
    entries = json_of(run("aliases", "log", "--json"))["decisions"]
    assert [entry["kind"] for entry in entries] == ["alias.add"]
    assert "the builder" in run("aliases", "log").stdout


def test_no_entities_yet(run: Run, folder: Path) -> None:
    run("init", "n")
    assert "There are no entities; localrag index finds them." in run("entities", "list").stderr


@pytest.mark.parametrize("what", ["entities", "relations", "aliases"])
def test_a_limit_beyond_all_numbers(run: Run, read_kb: Path, what: str) -> None:
    assert "range" in run(what, "list", "--limit", "9" * 30, code=2).stderr
    assert "range" in run(what, "list", "--limit", str(2**63 - 1), code=2).stderr
