"""Claims under a grammar: whatever is written is one, about two names, at a time, said once."""

from __future__ import annotations

import json
import re
from datetime import date
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from localrag.engine.claim_program import NONE, OWN_TYPE, RESERVED, STATUSES, ClaimRecords, ClaimSentence
from localrag.engine.client import WorkerModel
from localrag.engine.constraints import driver_for
from localrag.engine.gbnf import to_gbnf
from localrag.engine.programs import from_dict, to_dict
from localrag.engine.remote_claims import claims_lines, split_claims, take_claims
from localrag.engine.remote_writing import Written
from localrag.engine.types import Generation
from localrag.errors import ConstraintError
from tests.engine.test_random_weights import requests, results
from tests.engine.test_remote_model import check, request, served
from tests.examples import examples
from tests.extraction.support import thrown

NAMES = ("ADA HOLM", "BRUNO (JR)", "KELL", "C++ GUILD")
PERIODS = (("2018-03-01", "2018-03-31"), ("2020-01-01", ""), ("", "1999-12-31"))


def told(
    count: int, *names: str, periods: tuple[tuple[str, str], ...] = PERIODS
) -> tuple[ClaimSentence, ...]:
    """So many sentences that all speak of the same, each naming one time more than the one before."""
    return tuple(ClaimSentence(names, periods[:number]) for number in range(count))


TEXT = ClaimRecords(NAMES[:3], NAMES, told(6, *NAMES), description_chars=12, maximum=4)
FREE = ClaimRecords(
    NAMES[:2],
    NAMES,
    told(4, *NAMES),
    types=("FRAUD", "A/B"),
    free_dates=True,
    description_chars=12,
    maximum=4,
)
SMALL = ClaimRecords(("ADA",), ("ADA",), told(1, "ADA"), types=("T",), description_chars=4, maximum=9)
CHINESE = ClaimRecords(
    ("张三", "李四"),
    ("张三", "李四"),
    told(3, "张三", "李四"),
    type_pattern="[一-龥]{2,8}",
    description_pattern=r"[^ 。！？<>|#()\x00-\x1f]{1,20}。?",
)
STRANGE = ClaimRecords(
    ("ADA", "B~C"), ("ADA", "KELL"), told(3, "ADA", "KELL", "B~C"), description_chars=20,
    tuple_delimiter="~~", record_delimiter="^^", completion_delimiter="@@END",
)  # fmt: skip
APART = ClaimRecords(
    NAMES[:3],
    NAMES,
    (
        ClaimSentence(("ADA HOLM", "BRUNO (JR)"), PERIODS[:1]),
        ClaimSentence(()),
        ClaimSentence(("C++ GUILD",), PERIODS[1:]),
        ClaimSentence(("BRUNO (JR)", "KELL"), PERIODS[2:]),
        ClaimSentence(("ADA HOLM", "C++ GUILD")),
    ),
    alike=(("BRUNO (JR)", "KELL"),),
    description_chars=8,
)
PROGRAMS = {
    "text": TEXT,
    "free": FREE,
    "small": SMALL,
    "chinese": CHINESE,
    "strange": STRANGE,
    "apart": APART,
}


def check_claims(program: ClaimRecords, result: Generation) -> int:
    """Hold the claims of an output against all that is promised; returns how many there are."""
    seen = set()
    claims = [segment.text for segment in result.segments if segment.name == "claim"]
    assert len(claims) <= program.maximum
    for text in claims:
        assert text.endswith(f"){program.record_delimiter}\n")
        number, _, record = text.partition(" (")
        sentence = program.sentences[int(number) - 1]
        fields = record[: -len(program.record_delimiter) - 2].split(program.tuple_delimiter)
        subject, object_, type_, status, start, end, description, quotes = fields
        assert subject in program.subjects
        assert object_ in (*program.objects, NONE)
        assert object_ != subject
        assert not any({subject, object_} <= set(group) for group in program.alike)
        assert {subject, object_} - {NONE} <= set(sentence.names)
        assert type_ in program.types or (not program.types and re.fullmatch(program.type_pattern, type_))
        assert type_ not in RESERVED
        assert status in STATUSES
        days = [
            None if day == NONE else date.fromisoformat(day.removesuffix("T00:00:00")) for day in (start, end)
        ]
        if not program.free_dates:
            named = tuple(day.isoformat() if day else "" for day in days)
            assert named in (*sentence.periods, ("", ""))
        if days[0] and days[1]:
            assert days[0] <= days[1]
        assert 1 <= len(description.strip()) <= len(description) <= 70 * program.description_chars
        numbers = [int(number) for number in quotes.split(", ")]
        assert numbers[0] == int(number)
        assert all(left < right for left, right in pairwise([*numbers, len(program.sentences) + 1]))
        assert all(subject in program.sentences[number - 1].names for number in numbers)
        assert len(numbers) <= program.max_quotes
        same = (subject, object_, type_, status, numbers[0])
        assert same not in seen
        seen.add(same)
    return len(claims)


@pytest.mark.parametrize("name", PROGRAMS)
def test_who_knows_nothing_but_the_grammar_writes_claims(name: str) -> None:
    program = PROGRAMS[name]
    found = 0
    for seed in range(examples(15)):
        result = thrown(program, seed, 60)
        found += check_claims(program, result)
        if result.finish == "stop":
            assert result.text.endswith(program.completion_delimiter)
    assert found > 5


@given(
    st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=4, unique=True),
    st.integers(0, 40),
    st.integers(0, 99),
)
@example(["\x7f"], 1, 0)
@settings(max_examples=examples(30), deadline=None)
def test_any_names_and_any_number_of_sentences(names: list[str], sentences: int, seed: int) -> None:
    program = ClaimRecords(
        tuple(names), tuple(names), told(sentences, *names), description_chars=5, maximum=2
    )
    result = thrown(program, seed, 12)
    assert check_claims(program, result) == 0 or sentences


def test_no_claim_is_written_twice_even_where_little_can_be_said() -> None:
    # One subject, no object, one type, one sentence: the three statuses are all that there is.
    most = 0
    for seed in range(40):
        result = thrown(SMALL, seed, 60)
        most = max(most, check_claims(SMALL, result))
    assert most == len(STATUSES)


def test_a_model_of_random_weights_writes_claims(model: WorkerModel) -> None:
    for program in (TEXT, FREE, CHINESE):
        written = results(model, requests(program, 60, "港口 harbour", max_tokens=300))
        assert all(result.finish in ("stop", "length") for result in written), written
        assert sum(check_claims(program, result) for result in written) > 2


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *((kind, name) for kind in ("llama-server", "vllm", "schemas") for name in ("text", "free")),
        ("vllm", "chinese"),
        ("schemas", "chinese"),
        ("schemas", "strange"),
    ],
)
def test_claims_of_a_server(kind: str, name: str) -> None:
    found = 0
    for seed in range(9):
        if found:
            break
        with served(kind, seed) as (remote, standin):
            *_, result = remote.stream(request(PROGRAMS[name], tokens=4000))
            assert isinstance(result, Generation)
            check(PROGRAMS[name], result)
            found += check_claims(PROGRAMS[name], result)
            if kind != "llama-server":
                chats = standin.bodies("/v1/chat/completions")
                # The others are the trials of what the server can do.
                assert sum("Say hello." not in str(body["messages"]) for body in chats) == 1
    assert found


def test_what_a_server_writes_twice_or_wrongly_is_left_out() -> None:
    good = "1 (ADA HOLM<|>NONE<|>FRAUD<|>TRUE<|>NONE<|>NONE<|>She did.<|>1)##\n"
    turned = "2 (ADA HOLM<|>NONE<|>FRAUD<|>FALSE<|>2020-01-02T00:00:00<|>2019-01-02T00:00:00<|>No.<|>2)##\n"
    bad = good.replace("ADA HOLM", "NOBODY")
    written = Written(FREE)
    take_claims(FREE, written, split_claims(FREE, good + bad + good + turned + "3 (ADA HOLM<|>NO"))
    assert [segment.text for segment in written.segments] == [
        good,
        turned.replace("2020-01-02T00:00:00<|>2019-01-02", "2019-01-02T00:00:00<|>2020-01-02"),
    ]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"claims": 3}', '{"claims": [1]}', '{"claims": [{}]}'])
def test_other_json_is_refused(text: str) -> None:
    with pytest.raises(ConstraintError, match="no claims"):
        claims_lines(FREE, text)


def test_a_program_survives_its_way_to_the_worker() -> None:
    for program in PROGRAMS.values():
        assert from_dict(to_dict(program)) == program


@pytest.mark.parametrize(
    "changes",
    [{"sentences": told(41, "A")}, {"max_quotes": 0}, {"tuple_delimiter": ""}, {"record_delimiter": "a)"}],
)
def test_a_program_without_sense_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ConstraintError):
        driver_for(ClaimRecords(**{"subjects": ("A",), "objects": (), "sentences": told(2, "A"), **changes}))  # type: ignore[arg-type]


def test_the_grammar_of_many_sentences_stays_small() -> None:
    names = tuple(f"NAME {number}" for number in range(12))
    driver = driver_for(ClaimRecords(names, names, told(40, *names)))
    step = driver.first()
    assert len(step.lark) < 12_000
    for text in ("1 (NAME 3<|>", "NONE<|>FINE<|>", "TRUE<|>NONE<|>NONE<|>", "Said.<|>"):
        following = driver.following(text)
        assert following is not None
        step = following
    assert len(to_gbnf(step.lark)) < 60_000


@pytest.mark.parametrize("word", [*RESERVED, "NONEUNKNOWN", "FALSE ALARM", "T", "-A", "A" * 17, "true"])
def test_a_word_of_another_field_is_no_type(word: str) -> None:
    assert not re.fullmatch(OWN_TYPE, word)


@given(st.from_regex("[A-Z][A-Z-]{1,15}( [A-Z][A-Z-]{0,15}){0,2}", fullmatch=True))
@example("TRU")
@example("TRUTH")
@example("FALSE ALARM")
@example("NON")
@example("ALARM NONE")
@settings(max_examples=examples(200), deadline=None)
def test_every_other_word_is_one(text: str) -> None:
    assert bool(re.fullmatch(OWN_TYPE, text)) == (not text.startswith(RESERVED))


def test_a_claim_rests_on_a_sentence_that_speaks_of_its_subject_at_its_time() -> None:
    about: dict[int, set[str]] = {}
    for seed in range(40):
        for segment in thrown(APART, seed, 60).segments:
            if segment.name == "claim":
                number, _, record = segment.text.partition(" (")
                about.setdefault(int(number), set()).add(record.partition("<|>")[0])
    assert about[1] == {"ADA HOLM", "BRUNO (JR)"}
    assert 2 not in about
    assert 3 not in about
    assert about[4] == {"BRUNO (JR)", "KELL"}
    assert about[5] == {"ADA HOLM"}


def test_json_keeps_of_a_claim_what_its_sentence_says() -> None:
    claim = {
        "sentence": 5, "subject": "ADA HOLM", "object": "BRUNO (JR)", "type": "FRAUD", "status": "TRUE",
        "time": "2020-01-01T00:00:00<|>NONE", "description": "She did.",
    }  # fmt: skip
    lines = claims_lines(APART, json.dumps({"claims": [claim]}))
    assert lines == ["5 (ADA HOLM<|>NONE<|>FRAUD<|>TRUE<|>NONE<|>NONE<|>She did.<|>5)##\n"]
    claim["sentence"] = 9
    with pytest.raises(ConstraintError, match="no claims"):
        claims_lines(APART, json.dumps({"claims": [claim]}))
