"""Lists, counts and comparisons from the tables: complete, placed, and only where they are asked for."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from localrag.answering.tables import TableAnswer, table_answer
from localrag.answering.tables_roles import called
from localrag.answering.tables_written import SHOWN
from localrag.store import Store
from localrag.store.aggregates import NamedPassage, TextPlace
from localrag.store.curation_rows import AddTag, DocumentRef
from localrag.store.filters import Filter
from localrag.store.report_rows import NewClaim
from tests.answering.tables_corpus import PEOPLE, harbour, name, sixty
from tests.store.helpers import add, generation, name_words, new_store


@pytest.fixture(scope="module")
def letters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Sixty people in thirty passages; only read."""
    with new_store(tmp_path_factory.mktemp("tables") / "letters.localrag") as store:
        sixty(store)
        yield store


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A few people under several names, in English and Chinese; only read."""
    with new_store(tmp_path_factory.mktemp("tables") / "port.localrag") as store:
        harbour(store)
        yield store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with new_store(tmp_path / "own.localrag") as opened:
        yield opened


def table(store: Store, question: str, language: str = "en", narrowed: Filter | None = None) -> TableAnswer:
    """The table that answers a question, with every place checked against the document."""
    found = table_answer(store, question, language, narrowed)
    assert found is not None, question
    texts = {row.path: store.documents.text(row.id) for row in store.documents.list()}
    for citation in found.citations:
        assert texts[citation.document][citation.start : citation.end] == citation.text != ""
    for row in found.rows:
        if row.place is not None:
            assert 0 <= row.place.start < row.place.end <= len(texts[row.place.document])
    return found


def first_cells(found: TableAnswer) -> list[str]:
    return [str(row.cells[0]) for row in found.rows]


@pytest.mark.parametrize(
    "question",
    [
        "List all people",
        "Please list all the people mentioned in the documents.",
        "Can you give me a complete list of all persons?",
        "Who is mentioned?",
        "which people are named in the texts",
        "How many people are mentioned in the whole corpus?",
        "How many different persons are there?",
    ],
)
def test_all_sixty_people_are_listed_and_counted_once(letters: Store, question: str) -> None:
    found = table(letters, question)
    assert sorted(first_cells(found)) == sorted(PEOPLE)
    assert found.total == len(PEOPLE) == 60
    assert ": 60" in found.title
    assert all(f"- {person} " in found.markdown for person in PEOPLE)


def test_every_row_has_the_place_that_names_it(letters: Store) -> None:
    found = table(letters, "List all people")
    texts = {row.path: letters.documents.text(row.id) for row in letters.documents.list()}
    for row in found.rows:
        assert row.place is not None
        assert texts[row.place.document][row.place.start : row.place.end] == row.cells[0]
    assert len(found.citations) == 60
    shown = [citation for citation in found.citations if citation.document == "letters/box3.txt"]
    assert len({citation.number for citation in shown}) == 1
    assert "[DC] letters/box3.txt\n" in found.markdown


def test_a_long_list_shows_the_first_and_counts_the_rest(letters: Store) -> None:
    found = table_answer(letters, "List all people", "en", shown=12)
    assert found is not None
    assert found.markdown.count("\n- ") - found.markdown.count("[DC]") == 12
    assert "… and 48 more." in found.markdown
    assert len(found.rows) == 60
    assert len(list(csv.reader(io.StringIO(found.to_csv())))) == 61
    assert len(found.to_json()["rows"]) == 60
    assert SHOWN >= 60


def test_roles_are_found_by_the_words_of_the_texts(letters: Store) -> None:
    found = table(letters, "List all attorneys")
    assert sorted(first_cells(found)) == sorted(PEOPLE[at] for at in range(0, 60, 6))
    assert "“attorney”" in found.title
    assert found.note
    assert all("an attorney" in citation.text for citation in found.citations)


def test_a_name_counts_once_whatever_it_is_called(port: Store) -> None:
    people = first_cells(table(port, "List all people"))
    assert people.count("Marta Lind") == 1
    assert "Lind" not in people
    assert len(people) == len(set(people)) == 9


def test_who_only_stands_beside_the_word_has_not_the_role(port: Store) -> None:
    # The attorney asked Otto Kern; Otto Kern is not an attorney.
    assert sorted(first_cells(table(port, "List all attorneys"))) == ["Jonas Ek", "Marta Lind", "Pia Holm"]


def test_chinese_roles(port: Store) -> None:
    found = table(port, "列出文中提到的所有律师", "zh")
    assert sorted(first_cells(found)) == sorted(["张三", "李四", "王五"])
    assert "律师" in found.title


@pytest.mark.parametrize(
    ("text", "names", "role", "those"),
    [
        (
            "Attorneys: Ann Hill, Bo Lee and Cy Roth met.",
            ["Ann Hill", "Bo Lee", "Cy Roth"],
            "attorney",
            [0, 1, 2],
        ),
        ("Ann Hill and Bo Lee are attorneys.", ["Ann Hill", "Bo Lee"], "attorney", [0, 1]),
        ("With Ann Hill came Bo Lee, a young attorney.", ["Ann Hill", "Bo Lee"], "attorney", [1]),
        ("Ann Hill, Bo Lee, the attorney, and others.", ["Ann Hill", "Bo Lee"], "attorney", [1]),
        ("Ann Hill is the attorney's wife.", ["Ann Hill"], "attorney", []),
        ("Ann Hill, a friend of an attorney, left.", ["Ann Hill"], "attorney", []),
        ("Ann Hill is not an attorney.", ["Ann Hill"], "attorney", []),
        ("Ann Hill hired an attorney.", ["Ann Hill"], "attorney", []),
        ("The attorney told Ann Hill of it.", ["Ann Hill"], "attorney", []),
        ("Ann Hill, the attorney Bo Lee and a clerk.", ["Ann Hill", "Bo Lee"], "attorney", [1]),
        ("Attorney Ann Hillman spoke.", ["Ann Hill"], "attorney", []),
        ("张三律师来了。", ["张三"], "律师", [0]),
        ("张三和李四都是律师。", ["张三", "李四"], "律师", [0, 1]),
        ("张三是律师李四的朋友。", ["张三", "李四"], "律师", [1]),
        ("张三找了一名律师。", ["张三"], "律师", []),
        ("张三不是律师。", ["张三"], "律师", []),
        ("张三是从没见过律师的。", ["张三"], "律师", []),
        ("张三是没当过律师。", ["张三"], "律师", []),
        ("张三，著名律师，到了。", ["张三"], "律师", [0]),
    ],
)
def test_what_calls_a_name_so(text: str, names: list[str], role: str, those: list[int]) -> None:
    passage = NamedPassage(
        TextPlace(1, 1, "a.txt", None, "", 100, 100 + len(text)),
        text,
        tuple((number, name, "person", "") for number, name in enumerate(names)),
    )
    assert sorted(item.entity_id for item in called([passage], role)) == those


def test_a_single_name_with_a_role_is_no_list(store: Store) -> None:
    document = add(store, "a.txt", "Ann Hill, an attorney, met Bo Lee.")
    name(store, store.chunks.of_document(document)[0].id, {"Ann Hill": "person", "Bo Lee": "person"})
    assert table_answer(store, "List all attorneys", "en") is None


def test_types_of_a_persons_own(store: Store) -> None:
    document = add(store, "a.txt", "Ann Hill met Bo Lee in Rome at ACME and Rome Bank.")
    kinds = {"Ann Hill": "attorney", "Bo Lee": "Peop", "Rome": "LOC", "ACME": "company", "Rome Bank": "ORG"}
    name(store, store.chunks.of_document(document)[0].id, kinds)
    assert first_cells(table(store, "List all attorneys")) == ["Ann Hill"]
    assert first_cells(table(store, "List all people")) == ["Bo Lee"]
    assert first_cells(table(store, "How many companies are mentioned?")) == ["ACME"]
    assert sorted(first_cells(table(store, "List all organizations"))) == ["ACME", "Rome Bank"]
    assert first_cells(table(store, "文中提到了哪些地点？", "zh")) == ["Rome"]
    assert first_cells(table(store, "List all types of entities")) == sorted(
        set(kinds.values()), key=lambda kind: kind
    )


def test_a_wider_type_is_said(letters: Store) -> None:
    found = table(letters, "How many companies are mentioned?")
    assert found.title == "Organizations named in the texts: 1"
    assert "companies" in found.note
    # How many there are in the world is another question.
    assert table_answer(letters, "How many companies are there?", "en") is None


def test_documents_that_mention_a_name(port: Store) -> None:
    found = table(port, "Which documents mention Jonas Ek?")
    assert {row.cells[0]: row.cells[1] for row in found.rows} == {"harbour.md": 1, "notes/2019-log.md": 1}
    # By the other name too: the model gave it to the same person.
    assert first_cells(table(port, "In which files is Lind mentioned?")) == ["harbour.md"]
    assert first_cells(table(port, "哪些文件提到了张三？", "zh")) == ["港口.md"]
    found = table(port, "How many documents mention the storm?")
    assert (first_cells(found), found.total) == (["harbour.md"], 1)
    assert "as they stand" in found.note
    assert table_answer(port, "Which documents mention the lighthouse?", "en") is None
    assert table_answer(port, "Which documents mention her?", "en") is None
    assert table_answer(port, "Which documents mention the lawyer of the Tarn Institute?", "en") is None
    assert table_answer(port, "Which documents mention the trouble that Lind had with storms?", "en") is None


def test_words_within_words_are_no_mention(store: Store) -> None:
    add(store, "a.txt", "The art of sailing.")
    add(store, "b.txt", "The party has started.")
    add(store, "c.txt", "A smart, old cart.")
    assert first_cells(table(store, "Which documents mention art?")) == ["a.txt"]


def test_documents_by_tag_folder_date_and_kind(port: Store, store: Store) -> None:
    add(store, "work/plan-2021.txt", "A plan.")
    add(store, "home/list.txt", "A list.")
    store.decisions.add(AddTag(DocumentRef("library", "home/list.txt"), "garden"))
    assert first_cells(table(store, "List all documents tagged Garden")) == ["home/list.txt"]
    assert first_cells(table(store, "Which files are in the folder work?")) == ["work/plan-2021.txt"]
    assert table(store, "How many documents are there?").total == 2
    assert table(store, "一共有多少个文件？", "zh").total == 2
    # The files were changed in 2023; one has a year in its name.
    assert first_cells(table(store, "How many documents are from 2021?")) == ["work/plan-2021.txt"]
    assert table(store, "How many documents are from 2023?").total == 2
    assert table(store, "Which documents were changed since 2023?").total == 2
    assert table_answer(store, "Which documents were changed after 2023?", "en") is None
    assert table_answer(store, "How many documents are from 2019?", "en") is None
    assert table(store, "List all txt files").total == 2
    assert table_answer(store, "List all pdf files", "en") is None
    found = table(store, "List all tags")
    assert [row.cells for row in found.rows] == [("garden", 1)]
    assert [row["tag"] for row in found.to_json()["rows"]] == ["garden"]


def test_within_a_document_a_folder_and_a_tag(letters: Store) -> None:
    assert table(letters, "Who is mentioned in box3.txt?").total == 6
    assert table(letters, "How many people are mentioned in letters/box3.txt?").total == 6
    assert table(letters, "List all people mentioned in letters").total == 60
    assert table(letters, "box3中提到了哪些人？", "zh").total == 6
    assert table_answer(letters, "Who is mentioned in box99.txt?", "en") is None


def test_comparisons(letters: Store, port: Store) -> None:
    found = table(letters, "Compare the number of people in box1.txt and letters")
    assert [row.cells for row in found.rows] == [("letters/box1.txt", 6), ("letters/", 60)]
    assert "6 in both" in found.title
    assert table(port, "比较harbour.md和港口.md中的人物数量", "zh").rows[0].cells == ("harbour.md", 5)
    found = table(port, "Who is mentioned more often, Jonas Ek or Otto Kern?")
    assert first_cells(found) == ["Otto Kern", "Jonas Ek"]
    assert table_answer(port, "Who is mentioned more often, Jonas Ek or Nobody Known?", "en") is None


def test_named_most_and_how_often(letters: Store, port: Store) -> None:
    found = table(port, "Which person is named most often?")
    assert found.rows[0].cells == ("Otto Kern", 3)
    assert found.title.startswith("Otto Kern is named most often")
    assert len(table(port, "What are the two most mentioned people?").rows) == 9
    assert table(port, "What are the two most mentioned people?").markdown.count("(passages:") == 3
    # Sixty people with one passage each: no one stands out.
    assert table_answer(letters, "Who is named most often?", "en") is None
    found = table(port, "How often is Lind mentioned?")
    assert (found.total, found.title) == (2, "Marta Lind is named in this many passages: 2")
    assert table(port, "李四被提到了多少次？", "zh").total == 1


def test_who_is_named_beside_whom(port: Store) -> None:
    found = table(port, "Which people are mentioned together with Rut Falk?")
    assert first_cells(found) == ["Otto Kern", "Jonas Ek", "Marta Lind"] or set(first_cells(found)) == {
        "Otto Kern",
        "Jonas Ek",
        "Marta Lind",
    }


def test_relations_by_their_verb(port: Store) -> None:
    found = table(port, "Who works for the Tarn Institute?")
    # Otto Kern wrote of it: the verb is another one.
    assert sorted(first_cells(found)) == ["Pia Holm", "Rut Falk"]
    assert "relations" in found.note
    assert table_answer(port, "Who lives in the Tarn Institute?", "en") is None
    assert table_answer(port, "Which person works for the Tarn Institute?", "en") is None


def test_what_someone_did(store: Store) -> None:
    document = add(
        store, "a.txt", "Lora Vane bought ACME and sold Bolt Works. In May Lora Vane bought Coil Ltd."
    )
    chunk = store.chunks.of_document(document)[0].id
    from tests.store.helpers import relation

    names = dict.fromkeys(("Lora Vane", "ACME", "Bolt Works", "Coil Ltd"), "organization")
    from localrag.graph.names import fold

    links = [relation(fold("Lora Vane"), fold(other)) for other in ("ACME", "Bolt Works", "Coil Ltd")]
    name(store, chunk, names, links)
    assert sorted(first_cells(table(store, "What did Lora Vane buy?")))[0] == "ACME"
    assert "Coil Ltd" in first_cells(table(store, "What did Lora Vane buy?"))
    assert table_answer(store, "What did ACME buy?", "en") is None


def test_claims(store: Store) -> None:
    document = add(store, "a.txt", "Ann Hill stole ships in 1901.\nBo Lee paid nothing.")
    rows = store.chunks.of_document(document)
    assert table_answer(store, "List all claims", "en") is None
    name(store, rows[0].id, {"Ann Hill": "person"})
    name(store, rows[1].id, {"Bo Lee": "person"})
    year = ("1901-01-01", "1901-12-31")
    theft = NewClaim("ann hill", "THEFT", "TRUE", "Ann Hill stole ships", ((0, 8),), "", *year)
    debt = NewClaim("bo lee", "DEBT", "FALSE", "Bo Lee paid nothing", ((0, 6),))
    store.claims.record(rows[0].id, [theft], generation())
    store.claims.record(rows[1].id, [debt], generation())
    assert table(store, "List all claims").total == 2
    assert first_cells(table(store, "How many claims are false?")) == ["Bo Lee paid nothing"]
    assert first_cells(table(store, "List all claims about Ann Hill")) == ["Ann Hill stole ships"]
    assert first_cells(table(store, "Which claims are there from 1901?")) == ["Ann Hill stole ships"]
    assert first_cells(table(store, "列出所有虚假的说法", "zh")) == ["Bo Lee paid nothing"]


def test_a_filter_holds(letters: Store) -> None:
    narrowed = Filter(folder="letters/box2.txt")
    assert table(letters, "List all people", narrowed=narrowed).total == 6
    assert table(letters, "List all attorneys", narrowed=Filter(folder="letters")).total == 10
    assert table(letters, "Which documents mention Hartwig?", narrowed=narrowed).total == 1
    assert table(letters, "How often is Hartwig mentioned?", narrowed=narrowed).total == 3
    assert table(letters, "How many documents are there?", narrowed=narrowed).total == 1
    assert table(letters, "How many people are mentioned in letters?", narrowed=narrowed).total == 6
    assert table(letters, "List all names", narrowed=Filter(entity_types=("location",))).total == 1
    assert table_answer(letters, "How often is Ada Ahlers mentioned?", "en", narrowed) is None
    assert table_answer(letters, "Who is mentioned in box1.txt?", "en", narrowed) is None


def test_what_is_not_read_is_said(store: Store) -> None:
    document = add(store, "a.txt", "Ann Hill met Bo Lee.\nCy Roth was there.")
    name_words(store, document)
    found = table(store, "List all people")
    assert found.provisional
    assert "not known yet" in found.title
    assert "provisional" in found.note
    assert {"Ann", "Hill", "Roth"} <= {str(row.cells[0])[:4] for row in found.rows} or found.total > 0
    assert table_answer(store, "Who is named most often?", "en") is None
    name(store, store.chunks.of_document(document)[0].id, {"Ann Hill": "person", "Bo Lee": "person"})
    found = table(store, "List all people")
    assert not found.provisional
    assert sorted(first_cells(found)) == ["Ann Hill", "Bo Lee"]
    assert "1 of 2 passages" in found.note
    assert (found.coverage.read, found.coverage.total) == (1, 2)
    assert "已阅读 2 个段落中的 1 个" in table(store, "列出所有人物", "zh").note


def test_names_are_no_markup_and_no_templates(store: Store) -> None:
    strange = ["[x](http://a.b) | {n}", "\x1b[31mRed|Bell", "=1+1", "{name} `*_<b>"]
    document = add(store, "a\x1b[2J|[b].txt", " and ".join(strange))
    name(store, store.chunks.of_document(document)[0].id, dict.fromkeys(strange, "person"))
    found = table_answer(store, "List all names", "en")
    assert found is not None
    assert found.total == 4
    assert "\x1b" not in found.markdown
    assert "[x](" not in found.markdown
    assert "<b>" not in found.markdown.replace("\\<b", "")
    assert r"\[x\](http://a.b) \| {n}" in found.markdown
    assert [row[0] for row in csv.reader(io.StringIO(found.to_csv()))].count("'=1+1") == 1
    assert table_answer(store, "Which documents mention {name} `*_<b>?", "en") is not None


def test_an_empty_knowledge_base_has_no_tables(store: Store) -> None:
    for question in ("List all people", "How many documents are there?", "List all tags", "List all names"):
        assert table_answer(store, question, "en") is None
