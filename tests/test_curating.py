"""Decisions by name: what is found, what is refused and with which words, and that questions obey."""

from __future__ import annotations

from pathlib import Path

import pytest

from localrag.errors import KnowledgeBaseReadOnly, UsageError
from localrag.kb import KnowledgeBase
from localrag.store.database import Store
from localrag.store.rows import DocumentRow


def documents(kb: KnowledgeBase) -> dict[str, DocumentRow]:
    return {row.path: row for row in kb.status().documents}


def test_entities_are_found_by_name_alias_and_number(kb: KnowledgeBase) -> None:
    row = kb.entities.show("marta  LIND").entity
    assert row.name == "Marta Lind"
    assert kb.entities.show(f"#{row.id}").entity == row
    kb.aliases.add("Marta Lind", "The Builder")
    assert kb.entities.show("builder").entity == row
    assert [found.name for found in kb.entities.list("lind")] == ["Marta Lind", "Ida Lind"]
    assert [found.name for found in kb.entities.list("build")] == ["Marta Lind"]
    assert [found.name for found in kb.entities.list("陈玉")] == ["陈玉兰"]
    assert {found.type for found in kb.entities.list(type="PERSON")} == {"person"}
    assert len(kb.entities.list(limit=2)) == 2
    assert kb.entities.list("100%_") == []


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("Marta Lindt", "“Marta Lindt”", "Did you mean “Marta Lind”"),
        ("kvern", "“kvern”", "“Kvern Works”"),
        ("zzzzzz", "“zzzzzz”", "entities list"),
        ("a", "“a”", "entities list"),
        ("li", "“li”", "entities list"),
        ("#999", "“#999”", "entities list"),
        ("", "“”", "entities list"),
        ("#" + "9" * 50, "“#99", "entities list"),
        ("\x1b[31mred\x07", "“red”", "entities list"),
        ("x" * 1_000_000, "x…”", "entities list"),
        ("' OR 1=1 --", "“' OR 1=1 --”", "entities list"),
    ],
)
def test_what_is_not_there_is_told_with_what_is_near(
    kb: KnowledgeBase, name: str, message: str, hint: str
) -> None:
    with pytest.raises(UsageError) as caught:
        kb.entities.show(name)
    assert message in caught.value.message
    assert "\x1b" not in caught.value.message
    assert hint in caught.value.hint
    assert len(caught.value.message) < 120


def test_a_name_that_texts_give_to_several_is_asked_for_again(kb: KnowledgeBase, store: Store) -> None:
    for key in ("marta lind", "ida lind"):
        (entity,) = store.graph.find_by_keys([key])
        assert store.aliases.put(store.graph.entity_chunks(entity.id)[0], key, "Lind", "lind")
    with pytest.raises(UsageError, match="Several entities") as caught:
        kb.entities.show("Lind")
    assert "Marta Lind (#" in caught.value.hint
    kb.aliases.add("Ida Lind", "Lind")
    assert kb.entities.show("Lind").entity.name == "Ida Lind"


def test_a_merge_is_told_and_taken_back(kb: KnowledgeBase) -> None:
    made = kb.entities.merge(["Ida Lind", "ida lind"], "Marta Lind")
    assert made.sentence == "Merge “Ida Lind” into “Marta Lind”."
    assert (made.kind, made.mentions, made.relation_mentions) == ("entity.merge", 1, 1)
    view = kb.entities.show("Ida Lind")
    assert view.entity.name == "Marta Lind"
    assert [alias.name for alias in view.aliases] == ["Ida Lind"]
    assert [item.text for item in view.variants.names] == ["Marta Lind", "Ida Lind"]
    assert kb.entities.undo().id == made.id
    assert kb.entities.show("Ida Lind").entity.name == "Ida Lind"
    (entry,) = kb.entities.log()
    assert (entry.id, bool(entry.undone_at), entry.sentence) == (made.id, True, made.sentence)


def test_refusals_of_decisions_about_entities(kb: KnowledgeBase) -> None:
    entities = kb.entities
    with pytest.raises(UsageError, match="into itself"):
        entities.merge(["Marta Lind"], "marta lind")
    with pytest.raises(UsageError, match="Nothing was named"):
        entities.merge([], "Marta Lind")
    with pytest.raises(UsageError, match="an entity “Ida Lind” already") as caught:
        entities.rename("Marta Lind", "ida lind")
    assert "entities merge 'Marta Lind' --into 'Ida Lind'" in caught.value.hint
    with pytest.raises(UsageError, match="its name already"):
        entities.rename("Marta Lind", "Marta Lind")
    for name in ("", "  \n", "a\x1b[2Jb", "n" * 201, "\u202e"):
        with pytest.raises(UsageError, match="new name"):
            entities.rename("Marta Lind", name)
    with pytest.raises(UsageError, match="type is empty"):
        entities.retype("Marta Lind", " ")
    with pytest.raises(UsageError, match="at most 10,000"):
        entities.edit("Marta Lind", "d" * 10_001)
    with pytest.raises(UsageError, match="control characters"):
        entities.edit("Marta Lind", "\x07")
    with pytest.raises(UsageError, match="is not said"):
        entities.split("Marta Lind", "Other")
    with pytest.raises(UsageError, match="No mention") as caught:
        entities.split("Marta Lind", "Other", names=["M."])
    assert "Names: “Marta Lind”" in caught.value.hint
    with pytest.raises(UsageError, match="nothing would stay"):
        entities.split("Marta Lind", "Other", types=["person"])
    with pytest.raises(UsageError, match="means “Marta Lind” itself"):
        entities.split("Marta Lind", "MARTA LIND", documents=["mill.txt"])
    with pytest.raises(UsageError, match="no document “gone”"):
        entities.split("Marta Lind", "Other", documents=["gone"])
    with pytest.raises(UsageError, match="no decision to take back"):
        entities.undo()
    assert entities.log() == []


def test_entities_are_split_renamed_retyped_and_edited(kb: KnowledgeBase) -> None:
    kb.entities.split("Marta Lind", "Marta Lind the Younger", documents=["mill.txt"])
    assert {row.name: row.mentions for row in kb.entities.list("marta")} == {
        "Marta Lind": 1,
        "Marta Lind the Younger": 1,
    }
    # Into one that is there.
    kb.entities.merge(["Marta Lind the Younger"], "Marta Lind")
    kb.entities.split("Marta Lind", "ida lind", documents=["mill.txt"])
    assert kb.entities.show("Ida Lind").entity.mentions == 1
    kb.entities.rename("Jon Aas", "Jon  Aas the Poet")
    kb.entities.retype("Jon Aas", "poet")
    kb.entities.edit("Jon Aas", "Wrote letters.")
    row = kb.entities.show("jon aas the poet").entity
    assert (row.name, row.type, row.descriptions) == ("Jon Aas the Poet", "poet", ("Wrote letters.",))
    assert kb.entities.log()[-1].sentence == "Describe “Jon Aas the Poet” as “Wrote letters.”."


def test_a_deleted_entity_says_so(kb: KnowledgeBase) -> None:
    kb.entities.delete("Jon Aas")
    with pytest.raises(UsageError) as caught:
        kb.entities.show("jon aas")
    assert "deleted by a decision" in caught.value.hint


def test_relations_are_looked_up_and_decided_about(kb: KnowledgeBase) -> None:
    view = kb.relations.show("marta lind", "halden bridge")
    assert view.documents == ("bridge.md",)
    assert {row.source for row in kb.relations.list("Halden Bridge")} == {"Marta Lind", "Tomas Berg"}
    with pytest.raises(UsageError, match="no relation") as caught:
        kb.relations.show("Halden Bridge", "Marta Lind")
    assert "the other way" in caught.value.hint
    made = kb.relations.reverse("Marta Lind", "Halden Bridge")
    assert made.sentence == "Turn “Marta Lind” → “Halden Bridge” round."
    assert kb.relations.show("Halden Bridge", "Marta Lind").relation.weight == 1
    kb.relations.merge([("Halden Bridge", "Marta Lind")], ("Tomas Berg", "Halden Bridge"))
    assert kb.relations.show("Tomas Berg", "Halden Bridge").relation.keywords == "construction, repair"
    kb.relations.split(
        "Tomas Berg", "Halden Bridge", ("Marta Lind", "Kvern Works"), keywords=["construction"]
    )
    assert kb.relations.show("Marta Lind", "Kvern Works").relation.weight == 1
    kb.relations.edit("Marta Lind", "Kvern Works", keywords="steel", description="Steel came from there.")
    row = kb.relations.show("Marta Lind", "Kvern Works").relation
    assert (row.keywords, row.description) == ("steel", "Steel came from there.")
    kb.relations.delete("Marta Lind", "Kvern Works")
    with pytest.raises(UsageError, match="no relation"):
        kb.relations.show("Marta Lind", "Kvern Works")
    assert len(kb.relations.log()) == 5
    for _ in range(5):
        kb.relations.undo()
    again = kb.relations.show("marta lind", "halden bridge")
    assert (again.relation.keywords, again.relation.description) == (
        view.relation.keywords,
        view.relation.description,
    )


def test_refusals_of_decisions_about_relations(kb: KnowledgeBase) -> None:
    one = ("Tomas Berg", "Halden Bridge")
    with pytest.raises(UsageError, match="into itself"):
        kb.relations.merge([one], one)
    with pytest.raises(UsageError, match="two different entities"):
        kb.relations.merge([one], ("Ida Lind", "ida lind"))
    with pytest.raises(UsageError, match="relation itself"):
        kb.relations.split(*one, one, keywords=["repair"])
    with pytest.raises(UsageError, match="is not said"):
        kb.relations.split(*one, ("Ida Lind", "Halden"), keywords=[" "])
    with pytest.raises(UsageError, match="No mention"):
        kb.relations.split(*one, ("Ida Lind", "Halden"), keywords=["war"])
    with pytest.raises(UsageError, match="nothing would stay"):
        kb.relations.split(*one, ("Ida Lind", "Halden"), documents=["bridge.md"])
    with pytest.raises(UsageError, match="is missing"):
        kb.relations.edit(*one)
    assert kb.relations.log() == []


def test_aliases_are_given_and_taken(kb: KnowledgeBase) -> None:
    kb.aliases.add("Marta Lind", "the bridge builder")
    assert kb.search("What did the bridge builder buy?").entities[0].name == "Marta Lind"
    with pytest.raises(UsageError, match="already"):
        kb.aliases.add("Marta Lind", "Bridge Builder")
    with pytest.raises(UsageError, match="an entity “Ida Lind” already"):
        kb.aliases.add("Marta Lind", "Ida Lind")
    with pytest.raises(UsageError, match=r"“[^”]*” means “Marta Lind” already"):
        kb.aliases.add("Ida Lind", "bridge builder")
    with pytest.raises(UsageError, match="no alias"):
        kb.aliases.remove("Ida Lind", "bridge builder")
    kb.entities.merge(["Ida Lind"], "Marta Lind")
    with pytest.raises(UsageError, match="by decision 2") as caught:
        kb.aliases.remove("Marta Lind", "Ida Lind")
    assert "undo 2" in caught.value.hint
    assert {alias.name for alias in kb.aliases.list("Marta Lind")} == {"the bridge builder", "Ida Lind"}
    kb.aliases.remove("Marta Lind", "THE BRIDGE BUILDER")
    assert [alias.name for alias in kb.aliases.list()] == ["Ida Lind"]
    kb.aliases.undo()
    assert kb.aliases.undo(1).sentence == "Let “the bridge builder” mean “Marta Lind”."
    assert kb.search("What did the bridge builder buy?").entities[0].name != "Ida Lind"


def test_tags_are_given_and_taken(kb: KnowledgeBase) -> None:
    made = kb.tags.add(" My  Work ", ["bridge.md", "mill.txt", "bridge.md"])
    assert (made.tag, made.documents, made.unchanged) == ("My Work", ("bridge.md", "mill.txt"), ())
    assert kb.tags.add("my work", ["bridge.md"]).unchanged == ("bridge.md",)
    row = documents(kb)["茶馆.md"]
    kb.tags.add("旅行", [f"#{row.id}", f"{row.root.rstrip('/')}/{row.path}"])
    assert [(item.tag, item.documents) for item in kb.tags.list()] == [
        ("My Work", ("bridge.md", "mill.txt")),
        ("旅行", ("茶馆.md",)),
    ]
    assert [item.tag for item in kb.tags.list("mill.txt")] == ["My Work"]
    assert kb.tags.remove("MY WORK", ["mill.txt", "library.txt"]).documents == ("mill.txt",)
    for tag in ("", "a\x00b", "t" * 201):
        with pytest.raises(UsageError, match="tag"):
            kb.tags.add(tag, ["bridge.md"])
    with pytest.raises(UsageError, match="no document"):
        kb.tags.add("x", ["bridge.md", "gone.md"])
    assert [item.tag for item in kb.tags.list("bridge.md")] == ["My Work"]


def test_decisions_hold_for_what_is_indexed_later(kb: KnowledgeBase) -> None:
    kb.entities.merge(["Ida Lind"], "Marta Lind")
    kb.entities.delete("Kvern Works")
    kb.tags.add("work", ["mill.txt"])
    root = documents(kb)["mill.txt"].root
    rows = [(row.name, row.mentions) for row in kb.entities.list()]
    for path in ("mill.txt", "bridge.md"):
        kb.delete(path)
    kb.add([Path(root).expanduser() / path for path in ("bridge.md", "mill.txt")])
    for _ in kb.index():
        pass
    assert sorted((row.name, row.mentions) for row in kb.entities.list()) == sorted(rows)
    assert kb.tags.list()[0].documents == ("mill.txt",)


def test_a_knowledge_base_open_for_reading_is_not_decided_about(kb: KnowledgeBase) -> None:
    with KnowledgeBase.open(kb.path, read_only=True) as reader:
        assert reader.entities.show("Marta Lind").entity.mentions == 2
        with pytest.raises(KnowledgeBaseReadOnly):
            reader.entities.delete("Marta Lind")
        with pytest.raises(KnowledgeBaseReadOnly):
            reader.tags.add("x", ["mill.txt"])
        with pytest.raises(KnowledgeBaseReadOnly):
            reader.entities.undo()


def test_what_a_split_would_take_is_told_before_it_is_made(kb: KnowledgeBase) -> None:
    kb.entities.merge(["Ida Lind"], "Marta Lind")
    going, total = kb.entities.would_go("Marta Lind", names=["Ida Lind"])
    assert 0 < going < total
    assert kb.entities.would_go("Marta Lind") == (0, total)
    assert kb.entities.would_go("Marta Lind", names=["Nobody"]) == (0, total)
    assert kb.entities.split("Marta Lind", "Ida again", names=["Ida Lind"]).mentions == going
