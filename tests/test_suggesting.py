"""Suggested merges: listed with their evidence, accepted, rejected, kept apart, and never asked again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localrag.errors import UsageError
from localrag.kb import KnowledgeBase
from localrag.resolving import resolve
from localrag.sections import ResolutionSettings
from localrag.store import Store
from tests.store.helpers import embed_missing, vector
from tests.store.test_merges import ORGANIZATION, PERSON, read


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A knowledge base with one surely and one possibly merged name, and one that two may have."""
    path = tmp_path / "notes.localrag"
    with Store.create(path) as store:
        read(store, "a.txt", "Sherlock Holmes. Mr. Holmes.", ["Sherlock Holmes", "Mr. Holmes"])
        read(store, "b.txt", "Mycroft Holmes. Holmes.", ["Mycroft Holmes", "Holmes"])
        read(store, "c.txt", "Holmes came.", ["Holmes"])
        read(store, "d.txt", "The United Nations.", [("United Nations", ORGANIZATION)])
        read(store, "e.txt", "The UN met.", [("UN", ORGANIZATION)])
        resolve(store, ResolutionSettings())
    return path


@pytest.fixture
def kb(path: Path) -> Iterator[KnowledgeBase]:
    """The same, open."""
    with KnowledgeBase.open(path) as opened:
        yield opened


def pairs(kb: KnowledgeBase) -> list[tuple[str, str]]:
    """The suggested pairs, sorted."""
    return sorted((item.name, item.into) for item in kb.entities.suggestions())


def number_of(kb: KnowledgeBase, name: str, into: str = "") -> int:
    """The number of a suggestion."""
    return next(
        item.number for item in kb.entities.suggestions() if item.name == name and into in ("", item.into)
    )


def test_suggestions_are_numbered_and_say_why(kb: KnowledgeBase) -> None:
    found = kb.entities.suggestions()
    assert [item.number for item in found] == [1, 2, 3]
    assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)
    assert pairs(kb) == [
        ("Holmes", "Mycroft Holmes"),
        ("Holmes", "Sherlock Holmes"),
        ("UN", "United Nations"),
    ]
    assert found[-1].evidence == ("the initials of the other name",)
    assert "1 document takes them for one" in found[0].evidence
    assert len(kb.entities.suggestions(2)) == 2


def test_vectors_of_both_tell_how_alike_they_are(path: Path) -> None:
    with Store.open(path) as store:
        embed_missing(store)
        wanted = float(vector("United Nations") @ vector("UN"))
    with KnowledgeBase.open(path) as kb:
        found = kb.entities.suggestions()[-1].evidence
    assert found[-1] == f"their descriptions are {max(wanted, 0):.0%} alike"


def test_what_is_accepted_is_a_merge_that_can_be_taken_back(kb: KnowledgeBase) -> None:
    (made,) = kb.entities.judge(accept=[number_of(kb, "UN")])
    assert made.sentence == "Merge “UN” into “United Nations”."
    assert ("UN", "United Nations") not in pairs(kb)
    assert kb.entities.show("un").entity.name == "United Nations"
    kb.entities.undo()
    assert ("UN", "United Nations") in pairs(kb)


def test_what_is_rejected_is_not_suggested_again(kb: KnowledgeBase) -> None:
    (made,) = kb.entities.judge(reject=[number_of(kb, "UN")])
    assert (made.kind, made.sentence) == ("entity.apart", "Keep “UN” and “United Nations” apart.")
    assert ("UN", "United Nations") not in pairs(kb)
    assert kb.entities.show("un").entity.name == "UN"
    kb.entities.undo(made.id)
    assert ("UN", "United Nations") in pairs(kb)


def test_rejecting_one_of_two_and_accepting_the_other_makes_all_of_them_one(kb: KnowledgeBase) -> None:
    kb.entities.judge(
        accept=[number_of(kb, "Holmes", "Sherlock Holmes")],
        reject=[number_of(kb, "Holmes", "Mycroft Holmes")],
    )
    assert kb.entities.show("holmes").entity.name == "Sherlock Holmes"
    assert kb.entities.show("holmes").entity.mentions == 3
    assert kb.entities.show("Mycroft Holmes").entity.mentions == 1


def test_all_or_none_of_the_suggestions_are_judged(kb: KnowledgeBase) -> None:
    for accept, reject, message in (
        ([1, 99], [], "There is no suggestion 99."),
        ([1], [1], "Suggestion 1 cannot be accepted and rejected."),
        ([0], [], "There is no suggestion 0."),
    ):
        with pytest.raises(UsageError, match=message.replace(".", r"\.")):
            kb.entities.judge(accept, reject)
    assert kb.entities.log() == []


def test_an_entity_tells_what_was_merged_into_it(kb: KnowledgeBase) -> None:
    (item,) = kb.entities.show("Sherlock Holmes").merged
    assert (item.name, item.document, item.evidence) == ("Mr. Holmes", "a.txt", ("part of the other name",))
    assert kb.entities.show("UN").merged == ()


@pytest.mark.parametrize(
    ("short", "full", "reason"),
    [
        ("M. Lind", "Marta Lind", "an initial for a part of it"),
        ("Marta E. Lind", "Marta Elise Lind", "an initial for a part of it"),
        ("Marta Lind", "Marta Elise Lind", "less of its middle"),
    ],
)
def test_an_initial_is_called_an_initial(tmp_path: Path, short: str, full: str, reason: str) -> None:
    with Store.create(tmp_path / "n.localrag") as store:
        read(store, "a.txt", f"{full} came. {short} went.", [full, short])
        resolve(store, ResolutionSettings())
    with KnowledgeBase.open(tmp_path / "n.localrag") as kb:
        (item,) = kb.entities.show(full).merged
        assert item.name == short
        assert item.evidence == (f"the other name with {reason}",)


def test_a_name_that_means_several_has_to_be_said_in_full(kb: KnowledgeBase) -> None:
    assert kb.entities.show("holmes").entity.name == "Holmes"
    kb.entities.delete("Holmes")
    kb.entities.undo()
    kb.delete("c.txt")
    with pytest.raises(UsageError, match="Several entities are called") as caught:
        kb.entities.show("holmes")
    assert "Mycroft Holmes" in caught.value.hint
    assert "Sherlock Holmes" in caught.value.hint


def test_keeping_apart_takes_an_automatic_merge_back(kb: KnowledgeBase) -> None:
    made = kb.entities.keep_apart("mr. holmes", "Sherlock Holmes")
    assert made.mentions == 1
    assert kb.entities.show("Sherlock Holmes").merged == ()
    assert kb.entities.log()[0].sentence == "Keep “Holmes” and “Sherlock Holmes” apart."
    kb.entities.undo()
    assert kb.entities.show("Sherlock Holmes").merged


def test_names_that_a_person_made_one_are_not_kept_apart_in_silence(kb: KnowledgeBase) -> None:
    merge = kb.entities.merge(["Holmes"], "Sherlock Holmes")
    for names in (("Holmes", "Sherlock Holmes"), ("sherlock holmes", "Mr. Holmes")):
        with pytest.raises(UsageError, match=f"are one by your decision {merge.id}") as caught:
            kb.entities.keep_apart(*names)
        assert f"localrag entities undo {merge.id}" in caught.value.hint
    kb.entities.undo(merge.id)
    assert kb.entities.keep_apart("Holmes", "Sherlock Holmes").kind == "entity.apart"


def test_names_that_are_made_one_twice_are_told_so_twice(kb: KnowledgeBase) -> None:
    first = kb.aliases.add("Sherlock Holmes", "Consulting Detective")
    kb.entities.merge(["Holmes"], "Sherlock Holmes")
    second = kb.entities.merge(["UN"], "Sherlock Holmes")
    assert second.id > first.id
    with pytest.raises(UsageError, match=f"by your decision {second.id}"):
        kb.entities.keep_apart("UN", "Holmes")


def test_a_pair_that_is_kept_apart_makes_no_second_decision(kb: KnowledgeBase) -> None:
    made = kb.entities.keep_apart("Holmes", "Sherlock Holmes")
    with pytest.raises(UsageError, match=f"are kept apart already, by decision {made.id}"):
        kb.entities.keep_apart("Sherlock Holmes", "mr. holmes")
    assert len(kb.entities.log()) == 1
    kb.entities.undo()
    kb.entities.keep_apart("Sherlock Holmes", "Holmes")


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        ("Holmes", "Mr. Holmes", "are spellings of one name"),
        ("Nobody", "Holmes", "There is no entity"),
        ("", "Holmes", "There is no entity"),
    ],
)
def test_only_two_names_that_are_there_are_kept_apart(
    kb: KnowledgeBase, one: str, other: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        kb.entities.keep_apart(one, other)


def test_switched_off_nothing_is_merged_any_more(path: Path) -> None:
    with Store.open(path) as store:
        assert resolve(store, ResolutionSettings()).documents == 0
        assert resolve(store, ResolutionSettings(automatic=False)).mentions == 2
        assert not store.merges.on
        assert resolve(store, ResolutionSettings(automatic=False)).mentions == 0
        assert resolve(store, ResolutionSettings()).mentions == 2


def test_a_split_by_type_parts_homonyms(tmp_path: Path) -> None:
    with Store.create(tmp_path / "m.localrag") as store:
        read(store, "a.txt", "Mercury shone.", [("Mercury", "place")])
        read(store, "b.txt", "Mercury ran.", [("Mercury", PERSON)])
    with KnowledgeBase.open(tmp_path / "m.localrag") as kb:
        assert kb.entities.split("Mercury", "Mercury (planet)", types=["place"]).mentions == 1
        kb.entities.undo()
        assert kb.entities.split("Mercury", "Mercury (god)", documents=["b.txt"]).mentions == 1


def test_a_pair_is_judged_by_its_names_wherever_it_stands_by_now(kb: KnowledgeBase) -> None:
    first, *_ = kb.entities.suggestions()
    keys = next(item.keys for item in kb.entities.suggestions() if item.name == "UN")
    one, other = kb.entities.sides(keys)
    assert (one.entity.name, other.entity.name) == ("UN", "United Nations")
    if first.keys != keys:
        kb.entities.judge_pair(first.keys, same=False)
    made = kb.entities.judge_pair(keys, same=True)
    assert made.sentence == "Merge “UN” into “United Nations”."
    assert kb.entities.show("UN").entity.name == "United Nations"
    with pytest.raises(UsageError, match="not suggested any more"):
        kb.entities.judge_pair(keys, same=True)
    kb.entities.undo(made.id)
    kept = kb.entities.judge_pair(keys, same=False)
    assert kept.kind == "entity.apart"
    assert keys not in [item.keys for item in kb.entities.suggestions()]
