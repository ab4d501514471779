"""When a summary is needed, what the model is asked for it, and what of its answer is taken."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.engine.types import Generation
from localrag.errors import SettingsError
from localrag.extraction.summaries import Item, Subject, Summarizer, batches, common_type
from localrag.sections import ExtractionSettings, SummarySettings
from localrag.store.summary_rows import Said, Saying
from localrag.store.wording import likeness
from tests.examples import examples
from tests.extraction.support import generation

ADA = Subject("entity", "Ada Lind", "en")


def summarizer(profile: str = "lightrag", language: str = "auto", **values: int) -> Summarizer:
    return Summarizer(ExtractionSettings(profile=profile, language=language), SummarySettings(**values))  # type: ignore[arg-type]


def said(
    texts: Sequence[str],
    types: Sequence[str] = (),
    language: str = "en",
    *,
    own: bool = False,
    target: str = "",
) -> Said:
    sayings = [
        Saying(number, text, types[number] if types else "Person", language)
        for number, text in enumerate(texts)
    ]
    kind = "relation" if target else "entity"
    return Said(kind, 1, "Ada Lind", target, own, tuple(sayings), tuple(range(len(texts))))  # type: ignore[arg-type]


def listed(prompt: str) -> list[dict[str, str]]:
    """The lines of JSON in a prompt."""
    return [json.loads(line) for line in prompt.splitlines() if line.startswith("{")]


def prompt_of(made: Summarizer, one: Said) -> str:
    return made.request(made.subject(one), made.items(one)).messages[0].text


def test_short_lists_need_no_model() -> None:
    few = summarizer(join_count=3, join_tokens=40)
    assert not few.needed(said([]))
    assert not few.needed(said(["Builds boats."]))
    assert not few.needed(said(["Builds boats.", "Bakes.", "Sings."]))
    assert few.needed(said(["Builds boats.", "Bakes.", "Sings.", "Rows."]))
    # The same in other words of case, blanks and stop does not count.
    assert not few.needed(said(["Builds boats.", "builds  boats", "BUILDS BOATS!", "Bakes.", "Sings."]))
    assert few.needed(said(["Builds boats " * 12, "Bakes " * 12]))
    assert not few.needed(said(["Builds boats " * 40]))


def test_what_a_person_wrote_stands_for_all() -> None:
    many = [f"Text {number}." for number in range(30)]
    assert summarizer().needed(said(many))
    assert not summarizer().needed(said(many, own=True))


@pytest.mark.parametrize("profile", ["lightrag", "graphrag", "compact"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_prompt_holds_each_description_once_in_its_order(profile: str, language: str) -> None:
    texts = [
        'Says "{name}" and {description_list}.',
        "Builds\nboats.",
        "builds boats",
        "住在海边。",
        "<|im_end|>\x1b[1m",
    ]
    one = said(texts, language=language)
    prompt = prompt_of(summarizer(profile), one)
    assert [line["description"] for line in listed(prompt)] == [
        'Says "{name}" and {description_list}.',
        "Builds boats.",
        "住在海边。",
        "<|im_end|> [1m",
    ]
    assert "Ada Lind" in prompt
    assert ("描述" in prompt or "段落" in prompt) == (language == "zh")
    assert "80" in prompt


def test_all_that_differs_from_call_to_call_stands_behind_what_is_shared() -> None:
    made = summarizer()
    one = made.request(ADA, [Item("Builds boats.")]).messages[0].pieces
    other = made.request(Subject("entity", "Bo", "en"), [Item("Bakes.")]).messages[0].pieces
    assert one[0] == other[0]
    assert one[0].shared
    assert len(one[0].text) > 300
    assert not one[1].shared


def test_the_language_is_that_of_most_passages_or_of_the_settings() -> None:
    mixed = Said(
        "entity", 1, "Ada", "", False,
        (Saying(1, "a", "", "zh"), Saying(2, "b", "", "zh"), Saying(3, "c", "", "en")), (1, 2, 3),
    )  # fmt: skip
    assert summarizer().subject(mixed).language == "zh"
    assert "中文" in prompt_of(summarizer(), mixed)
    assert "English" in prompt_of(summarizer(language="en"), mixed)
    assert "German" in prompt_of(summarizer(), said(["Baut Boote."], language="de"))
    with pytest.raises(SettingsError):
        summarizer(language="xx")


def test_several_things_of_one_name_stand_apart_with_their_types() -> None:
    texts = ["A river.", "Sings.", "Floods.", "Crossed by bridges.", "Born in 1970."]
    types = ["Location", "Person", "Location", "Location", "Person"]
    lines = listed(prompt_of(summarizer(), said(texts, types)))
    assert [(line["type"], line["description"]) for line in lines] == [
        ("Location", "A river."),
        ("Location", "Floods."),
        ("Location", "Crossed by bridges."),
        ("Person", "Sings."),
        ("Person", "Born in 1970."),
    ]
    assert common_type([Item("a", "Person"), Item("b", "Person")]) == "Person"
    assert common_type([Item("a", "Person"), Item("b", "Location")]) == ""
    assert all("type" not in line for line in listed(prompt_of(summarizer(), said(texts))))


@pytest.mark.parametrize(
    ("profile", "language", "words"),
    [
        ("lightrag", "en", ("different things of the same name", "differ")),
        ("graphrag", "en", ("different things of the same name", "contradict")),
        ("lightrag", "zh", ("同名", "不一致")),
        ("graphrag", "zh", ("同名", "矛盾")),
    ],
)
def test_the_prompt_asks_to_tell_conflicts_apart(profile: str, language: str, words: tuple[str, ...]) -> None:
    prompt = prompt_of(summarizer(profile), said(["a", "b"], language=language))
    assert all(word in prompt for word in words)


def test_a_relation_is_called_by_both_names() -> None:
    one = said(["Met in Halden.", "Wrote letters."], target="Bo Vik")
    assert "Ada Lind → Bo Vik" in prompt_of(summarizer(), one)
    assert "relationship" in prompt_of(summarizer(), one)


def test_very_many_descriptions_are_taken_evenly() -> None:
    items = summarizer(descriptions=5).items(said([f"Text {number}." for number in range(41)]))
    assert [item.text for item in items] == ["Text 0.", "Text 10.", "Text 20.", "Text 30.", "Text 40."]


def read(text: str, items: Sequence[Item], subject: Subject = ADA, **more: object) -> str:
    made: Generation = generation(text, **more)  # type: ignore[arg-type]
    return summarizer().read(subject, items, made)


ITEMS = [Item("Ada Lind built 7 boats in 1931."), Item("She studied in Norway.")]


@pytest.mark.parametrize(
    ("written", "taken"),
    [
        ("Ada Lind built 7 boats in 1931 and studied in Norway.",) * 2,
        ("**Ada Lind** built  boats.\nShe studied.", "Ada Lind built boats. She studied."),
        # What nothing says is left out: a number, a name, and the sentence with it.
        (
            "Ada Lind built boats. She built 8 of them. She studied in Norway.",
            "Ada Lind built boats. She studied in Norway.",
        ),
        ("Ada Lind built boats. She died in London.", "Ada Lind built boats."),
        ("Ada Lind, a Norwegian by study, built boats.",) * 2,
        ("She built 8 boats.", ""),
        ("", ""),
        # A last sentence without an end is left out, a lone one is kept.
        ("Ada Lind built boats. She stud", "Ada Lind built boats."),
        ("Ada Lind built boats", "Ada Lind built boats"),
    ],
)  # fmt: skip
def test_only_what_the_descriptions_bear_out_is_taken(written: str, taken: str) -> None:
    assert read(written, ITEMS) == taken


def test_a_sentence_that_the_budget_cut_shows_it() -> None:
    assert read("Ada Lind built boa", ITEMS, finish="length") == "Ada Lind built boa…"


def test_german_nouns_are_no_names_and_chinese_sentences_are_joined_without_blanks() -> None:
    german = Subject("entity", "Ada Lind", "de")
    assert read("Ada Lind baute ein Boot.", [Item("Sie baute Boote.")], german) == "Ada Lind baute ein Boot."
    chinese = Subject("entity", "陈玉兰", "zh")
    items = [Item("陈玉兰于1988年开办茶馆。"), Item("她教说书。")]
    assert (
        read("陈玉兰1988年开办茶馆。她1999年去世。她教说书。", items, chinese)
        == "陈玉兰1988年开办茶馆。她教说书。"
    )


SIZES = st.lists(st.integers(1, 50), max_size=60)


@settings(max_examples=examples(300), deadline=None)
@given(SIZES, st.integers(100, 200))
def test_batches_hold_all_in_order_and_fit(sizes: list[int], room: int) -> None:
    runs = batches(sizes, room)
    assert [place for run in runs for place in run] == list(range(len(sizes)))
    # An item is at most half the room, so whatever two there are fit.
    assert all(sum(sizes[place] for place in run) <= room for run in runs)
    assert all(len(run) >= 2 for run in runs[:-1])
    assert batches(sizes, room) == runs


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(2, 5000), st.integers(1, 60))
def test_summing_up_sums_comes_to_an_end(count: int, size: int) -> None:
    levels = 0
    while (runs := len(batches([size] * count, 120))) > 1:
        assert runs < count
        count, levels = runs, levels + 1
    assert levels <= 13


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.tuples(st.text(max_size=12), st.sampled_from(("Person", "Location", ""))), max_size=20))
def test_every_different_description_is_an_item_once(pairs: list[tuple[str, str]]) -> None:
    one = said([text for text, _ in pairs], [kind for _, kind in pairs])
    items = summarizer().items(one)
    wanted = {likeness(text) for text, _ in pairs} - {""}
    assert len(items) == len(wanted)
    assert all("\n" not in item.line and json.loads(item.line)["description"] == item.text for item in items)
    kinds = [item.type for item in items]
    # Those of one type stand together.
    assert sum(left != right for left, right in itertools.pairwise(kinds)) == max(len(set(kinds)) - 1, 0)


def test_prompts_of_a_person_are_used(tmp_path: Path) -> None:
    folder = tmp_path / "lightrag" / "en"
    folder.mkdir(parents=True)
    (folder / "summarize_descriptions.md").write_text(
        "---\ndescription: Mine.\ninputs: description_list\n---\nMine {x}: {description_list}"
    )
    made = Summarizer(ExtractionSettings(), SummarySettings(), tmp_path)
    assert prompt_of(made, said(["Builds boats."])) == 'Mine {x}: {"description": "Builds boats."}'
