"""A chunk's passes: what is asked behind the first, what can be written then, and when it ends."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.engine.programs import Decide, LeanRecords, Records
from localrag.engine.scripted import ScriptedModel
from localrag.engine.types import Generation, GenerationRequest, Segment
from localrag.extraction.extractor import PROFILES, QUESTION, TASK, Extractor
from localrag.extraction.gleaning import ReadingJob, asks
from localrag.graph.names import fold
from localrag.sections import ExtractionSettings
from tests.examples import examples
from tests.extraction.support import chunk, generation, thrown

TEXT = (
    "Marta Lind built the Halden Bridge in 1931. Tomas Berg of the Kvern Works repaired it with Olga Ness, "
    "and Ida Lind painted it for the Orla Museum."
)
CHINESE = "1988年，陈玉兰在青石镇开办了临江茶馆，后来林小川和周文静在县医院工作。"
LIND = "(entity<|>Marta Lind<|>person<|>a)##\n"
BRIDGE = "(entity<|>Halden Bridge<|>work<|>b)##\n"
BERG = "(entity<|>Tomas Berg<|>person<|>c)##\n"
BUILT = "(relationship<|>Marta Lind<|>Halden Bridge<|>k<|>built)##\n"
REPAIRED = "(relationship<|>Tomas Berg<|>Halden Bridge<|>k<|>repaired)##\n"
END = "<|COMPLETE|>"


def decided(chance: float) -> Generation:
    return replace(generation("YES"), probabilities=(chance, 1 - chance), mass=1.0)


def job(profile: str = "lightrag", **changed: object) -> ReadingJob:
    return ReadingJob(
        Extractor(ExtractionSettings(profile=profile, **changed)),  # type: ignore[arg-type]
        chunk(TEXT),
    )


def opened(**changed: object) -> tuple[ReadingJob, GenerationRequest]:
    begun = job(**changed)  # type: ignore[arg-type]
    request = begun.request()
    assert request is not None
    return begun, request


def finish(
    begun: ReadingJob, answer: Callable[[GenerationRequest], Generation], request: GenerationRequest | None
) -> list[GenerationRequest]:
    """Answer every call of a job; gives what was asked."""
    asked = []
    while request is not None:
        asked.append(request)
        request = begun.take(answer(request))
    return asked


def test_without_gleaning_there_is_one_call() -> None:
    begun, request = opened(gleaning="off")
    assert request == Extractor(ExtractionSettings(profile="lightrag")).request(chunk(TEXT))
    assert begun.take(generation(LIND + BRIDGE + BUILT + END)) is None
    assert [entity.name for entity in begun.reading.entities] == ["Marta Lind", "Halden Bridge"]
    assert (begun.failure, begun.trouble, begun.passes) == ("", "", 1)
    assert [(call.kind, call.parsed, call.turn) for call in begun.calls] == [("pass", 3, "")]


def test_a_chunk_that_names_nothing_asks_nothing() -> None:
    empty = ReadingJob(Extractor(ExtractionSettings(gleaning="once")), chunk("and so on, as it was."))
    assert empty.request() is None


def test_the_question_goes_on_with_the_conversation_of_the_pass() -> None:
    begun, first = opened(gleaning="once")
    question = begun.take(generation(LIND + BRIDGE + BUILT + END))
    assert question is not None
    assert question.messages[:2] == first.messages
    assert [message.role for message in question.messages] == ["system", "user", "assistant", "user"]
    assert question.messages[2].text == LIND + BRIDGE + BUILT + END
    assert "YES or NO" in question.messages[3].text
    assert question.program == Decide(("YES", "NO"))
    assert (first.task, question.task) == (TASK, QUESTION)
    assert not any(piece.shared for message in question.messages[2:] for piece in message.pieces)


def test_the_pass_behind_it_cannot_repeat_what_is_there() -> None:
    begun, first = opened(gleaning="once")
    begun.take(generation(LIND + BRIDGE + BUILT + END))
    further = begun.take(decided(0.9))
    assert further is not None
    assert further.messages[:2] == first.messages
    assert "may still be missing" in further.messages[3].text
    assert isinstance(further.program, Records)
    assert further.program.taken == ("Marta Lind", "Halden Bridge")
    assert further.program.taken_pairs == (("Marta Lind", "Halden Bridge"),)
    offered = further.program.kinds[0].fields[0].values
    assert not {"Marta Lind", "Halden Bridge"} & set(offered)
    assert {"Tomas Berg", "Kvern Works"} <= set(offered)
    assert begun.take(generation(BERG + REPAIRED + END)) is None
    reading = begun.reading
    assert [entity.name for entity in reading.entities] == ["Marta Lind", "Halden Bridge", "Tomas Berg"]
    assert [(r.source_key, r.target_key) for r in reading.relations] == [
        ("marta lind", "halden bridge"),
        ("tomas berg", "halden bridge"),
    ]
    assert begun.rejects == ()
    assert [call.kind for call in begun.calls] == ["pass", "question", "pass"]
    assert all(call.turn == call.request.messages[-1].text for call in begun.calls[1:])


def test_a_writer_without_grammar_that_repeats_is_not_stored_twice() -> None:
    begun, _ = opened(gleaning="once")
    begun.take(generation(LIND + BRIDGE + BUILT + END))
    begun.take(decided(0.9))
    again = "(relationship<|>Halden Bridge<|>Marta Lind<|>k<|>again)##\n"
    begun.take(generation(LIND + BERG + again + REPAIRED + END))
    assert [entity.name for entity in begun.reading.entities] == ["Marta Lind", "Halden Bridge", "Tomas Berg"]
    assert len(begun.reading.relations) == 2
    assert [(reject.kind, reject.reason) for reject in begun.rejects] == [
        ("entity", "this entity was written before"),
        ("relation", "this pair was written before"),
    ]
    last = begun.calls[-1]
    assert last.parsed == 4
    assert len(last.reading.entities) + len(last.reading.relations) + len(last.rejects) == 4


def test_lines_that_repeat_are_not_stored_twice_either() -> None:
    """The reader of the compact profile's lines leaves it to its grammar that nothing comes twice."""

    def lines(*texts: str) -> Generation:
        names = ["relationship" if "->" in text else "end" if text == "END" else "entity" for text in texts]
        segments = tuple(Segment(name, f"{text}\n") for name, text in zip(names, texts, strict=True))
        return replace(generation("".join(segment.text for segment in segments)), segments=segments)

    begun, _ = opened(profile="compact", gleaning="once")
    begun.take(
        lines(
            "Marta Lind | person", "Halden Bridge | work", "END", "Marta Lind -> Halden Bridge | built", "END"
        )
    )
    further = begun.take(decided(0.9))
    assert further is not None
    assert isinstance(further.program, LeanRecords)
    assert further.program.taken == ("Marta Lind", "Halden Bridge")
    assert further.program.taken_pairs == (("Marta Lind", "Halden Bridge"),)
    begun.take(
        lines(
            "Marta Lind | person", "Tomas Berg | person", "END", "Halden Bridge -> Marta Lind | is by", "END"
        )
    )
    assert [entity.name for entity in begun.reading.entities] == ["Marta Lind", "Halden Bridge", "Tomas Berg"]
    assert len(begun.reading.relations) == 1
    assert [reject.reason for reject in begun.rejects] == [
        "this entity was written before",
        "this pair was written before",
    ]


@pytest.mark.parametrize(
    ("threshold", "chance", "goes_on"), [(50, 0.5, True), (50, 0.49, False), (90, 0.6, False)]
)
def test_the_threshold_decides(threshold: int, chance: float, goes_on: bool) -> None:
    begun, _ = opened(gleaning="once", gleaning_threshold=threshold)
    begun.take(generation(LIND + BRIDGE + END))
    assert (begun.take(decided(chance)) is not None) == goes_on


def test_with_a_threshold_of_0_nothing_is_asked() -> None:
    begun, _ = opened(gleaning="once", gleaning_threshold=0)
    following = begun.take(generation(LIND + BRIDGE + END))
    assert following is not None
    assert isinstance(following.program, Records)
    assert not asks(ExtractionSettings(gleaning="once", gleaning_threshold=0))
    assert asks(ExtractionSettings(gleaning="until-no"))
    assert not asks(ExtractionSettings(gleaning="off"))


def test_a_pass_that_its_budget_ended_goes_on_without_a_question_and_offers_the_cut_record_again() -> None:
    begun, _ = opened(gleaning="once")
    following = begun.take(generation(LIND + BRIDGE + "(entity<|>Tomas Berg<|>person<|>He rep", "length"))
    assert following is not None
    assert isinstance(following.program, Records)
    assert "Tomas Berg" in following.program.kinds[0].fields[0].values
    assert "Tomas Berg" not in following.program.taken
    begun.take(generation(BERG + REPAIRED + END))
    assert [entity.name for entity in begun.reading.entities][-1] == "Tomas Berg"
    assert [reject.reason for reject in begun.rejects] == ["it was cut off before its end"]


def test_a_cut_relation_is_offered_again() -> None:
    begun, _ = opened(gleaning="once")
    following = begun.take(
        generation(LIND + BRIDGE + "(relationship<|>Marta Lind<|>Halden Bridge<|>k<|>she b", "length")
    )
    assert following is not None
    assert isinstance(following.program, Records)
    assert following.program.taken_pairs == ()
    assert following.program.kinds[-1].tag == "relationship"


def test_once_is_once_and_until_no_ends_at_no() -> None:
    texts = iter([LIND, BRIDGE, BERG, ""])

    def answer(request: GenerationRequest) -> Generation:
        return decided(0.9) if request.task == QUESTION else generation(next(texts) + END)

    begun, request = opened(gleaning="once")
    assert len(finish(begun, answer, request)) == 3
    texts = iter([LIND, BRIDGE, BERG, ""])
    chances = iter([0.9, 0.7, 0.2])

    def until(request: GenerationRequest) -> Generation:
        return decided(next(chances)) if request.task == QUESTION else generation(next(texts) + END)

    begun, request = opened(gleaning="until-no")
    asked = finish(begun, until, request)
    assert [request.task for request in asked] == [TASK, QUESTION] * 3
    # What was written is in the conversation, the questions are not.
    roles = [message.role for message in asked[-1].messages]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user", "assistant", "user"]
    assert "YES or NO" not in "".join(message.text for message in asked[-1].messages[:-1])
    assert begun.passes == 3


def test_until_no_has_a_bound_and_ends_where_nothing_is_added() -> None:
    texts = iter([LIND, BRIDGE, BERG, "(entity<|>Olga Ness<|>person<|>d)##\n"])

    def answer(request: GenerationRequest) -> Generation:
        return decided(0.99) if request.task == QUESTION else generation(next(texts, "") + END)

    begun, request = opened(gleaning="until-no", gleaning_passes=2)
    finish(begun, answer, request)
    assert begun.passes == 3
    texts = iter([LIND, BRIDGE])
    begun, request = opened(gleaning="until-no", gleaning_passes=9)
    finish(begun, answer, request)
    # The third pass added nothing, so no fourth is asked for.
    assert begun.passes == 3


def test_nothing_is_asked_where_nothing_is_left() -> None:
    short = ReadingJob(
        Extractor(ExtractionSettings(profile="lightrag", gleaning="once")), chunk("Ada wrote it.")
    )
    assert short.request() is not None
    assert short.take(generation("(entity<|>Ada<|>person<|>a)##\n" + END)) is None


@pytest.mark.parametrize("where", ["question", "pass"])
def test_a_look_for_more_that_fails_leaves_what_was_read(where: str) -> None:
    begun, _ = opened(gleaning="until-no")
    begun.take(generation(LIND + BRIDGE + BUILT + END))
    if where == "pass":
        assert begun.take(decided(0.9)) is not None
    assert begun.take(generation("", "error", "out of memory")) is None
    assert (begun.failure, begun.trouble) == ("", "out of memory")
    assert len(begun.reading.entities) == 2
    assert [(reject.kind, reject.reason) for reject in begun.rejects] == [("generation", "out of memory")]
    assert [call.parsed for call in begun.calls] == ([3, 0, 1] if where == "pass" else [3, 1])


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (generation("", "error", "out of memory"), "out of memory"),
        (generation(" \n"), "The model wrote nothing."),
        (generation("(entity<|>Marta L", "length"), "nothing usable in 20 tokens"),
        (generation(LIND, "cancelled"), "stopped"),
    ],
)
def test_a_first_pass_without_a_result_is_a_failure(result: Generation, reason: str) -> None:
    begun, _ = opened(gleaning="once")
    assert begun.take(result) is None
    assert reason in begun.failure


def test_gleaning_can_be_left_out_for_an_engine_that_does_not_decide() -> None:
    begun, _ = opened(gleaning="once")
    assert begun.take(generation(LIND + BRIDGE + END), glean=False) is None
    assert (begun.failure, begun.trouble) == ("", "")
    with pytest.raises(ValueError, match="no call"):
        begun.take(generation(LIND))


def test_the_prompts_of_gleaning_are_loaded_only_where_they_are_used() -> None:
    names = {prompt.name for prompt in Extractor(ExtractionSettings(gleaning="once")).prompts}
    assert {"extraction_continue", "extraction_loop"} <= names
    off = {prompt.name for prompt in Extractor(ExtractionSettings(gleaning="off")).prompts}
    assert not {"extraction_continue", "extraction_loop"} & off


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("profile", PROFILES)
def test_an_engine_that_obeys_the_program_adds_and_repeats_nothing(profile: str, language: str) -> None:
    extractor = Extractor(ExtractionSettings(profile=profile, gleaning="until-no", max_entities=3))
    begun = ReadingJob(extractor, chunk(TEXT if language == "en" else CHINESE, language))
    model = ScriptedModel()

    def answer(request: GenerationRequest) -> Generation:
        return next(event for event in model.stream(request) if isinstance(event, Generation))

    finish(begun, answer, begun.request())
    assert begun.passes > 1
    assert (begun.rejects, begun.trouble, begun.failure) == ((), "", "")
    keys = [entity.key for entity in begun.reading.entities]
    assert len(set(keys)) == len(keys) > 3


@settings(max_examples=examples(40), deadline=None)
@given(
    st.sampled_from(PROFILES),
    st.sampled_from(["en", "zh"]),
    st.booleans(),
    st.integers(0, 10_000),
)
def test_whatever_the_grammar_lets_pass_no_two_passes_say_the_same(
    profile: str, language: str, listed: bool, seed: int
) -> None:
    """Random text under the grammars alone, random decisions: all of it can be stored, and nothing twice."""
    source = chunk(TEXT if language == "en" else CHINESE, language)
    extractor = Extractor(
        ExtractionSettings(
            profile=profile,
            gleaning="until-no",
            max_entities=3,
            max_relations=3,
            relation_types=("made", "knows") if listed else (),
        )
    )
    begun, dice = ReadingJob(extractor, source), random.Random(seed)

    def answer(request: GenerationRequest) -> Generation:
        if request.task == QUESTION:
            return decided(dice.random())
        return thrown(request.program, dice.randrange(10_000), most=6)

    finish(begun, answer, begun.request())
    if begun.failure:
        return
    reading = begun.reading
    keys = [entity.key for entity in reading.entities]
    pairs = [(r.source_key, r.target_key) for r in reading.relations]
    if profile != "graphrag":
        pairs = [(min(pair), max(pair)) for pair in pairs]
    assert len(set(keys)) == len(keys)
    assert len(set(pairs)) == len(pairs)
    assert all(set(pair) <= set(keys) and pair[0] != pair[1] for pair in pairs)
    assert all(source.text[e.start : e.end] == e.name and fold(e.name) == e.key for e in reading.entities)
    assert all("cut off" in reject.reason for reject in begun.rejects)
    assert sum(call.parsed for call in begun.calls) == (
        len(reading.entities) + len(reading.relations) + len(begun.rejects)
    )
