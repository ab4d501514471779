"""Claims under a grammar: whatever is written is one, about two names, at a time, said once."""

from __future__ import annotations

from datetime import date
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from localrag.engine.claim_program import NONE, STATUSES, ClaimRecords
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
TEXT = ClaimRecords(NAMES[:3], NAMES, 6, periods=PERIODS, description_chars=12, maximum=4)
FREE = ClaimRecords(NAMES[:2], NAMES, 4, types=("FRAUD", "A/B"), description_chars=12, maximum=4)
SMALL = ClaimRecords(("ADA",), ("ADA",), 1, types=("T",), periods=(), description_chars=4, maximum=9)
CHINESE = ClaimRecords(
    ("张三", "李四"),
    ("张三", "李四"),
    3,
    type_pattern="[一-龥]{2,8}",
    description_pattern=r"[^ 。！？<>|#()\x00-\x1f]{1,20}。?",
    periods=PERIODS,
)
STRANGE = ClaimRecords(
    ("ADA", "B~C"), ("ADA", "KELL"), 3, periods=PERIODS, description_chars=20,
    tuple_delimiter="~~", record_delimiter="^^", completion_delimiter="@@END",
)  # fmt: skip
PROGRAMS = {"text": TEXT, "free": FREE, "small": SMALL, "chinese": CHINESE, "strange": STRANGE}


def check_claims(program: ClaimRecords, result: Generation) -> int:
    """Hold the claims of an output against all that is promised; returns how many there are."""
    seen = set()
    claims = [segment.text for segment in result.segments if segment.name == "claim"]
    assert len(claims) <= program.maximum
    for text in claims:
        assert text.startswith("(")
        assert text.endswith(f"){program.record_delimiter}\n")
        fields = text[1 : -len(program.record_delimiter) - 2].split(program.tuple_delimiter)
        subject, object_, type_, status, start, end, description, quotes = fields
        assert subject in program.subjects
        assert object_ in (*program.objects, NONE)
        assert object_ != subject
        assert type_ in program.types or (not program.types and type_ == type_.upper())
        assert status in STATUSES
        days = [
            None if day == NONE else date.fromisoformat(day.removesuffix("T00:00:00")) for day in (start, end)
        ]
        if program.periods is not None:
            named = tuple(day.isoformat() if day else "" for day in days)
            assert named in (*program.periods, ("", ""))
        if days[0] and days[1]:
            assert days[0] <= days[1]
        assert 1 <= len(description.strip()) <= len(description) <= 70 * program.description_chars
        numbers = [int(number) for number in quotes.split(", ")]
        assert all(left < right for left, right in pairwise([0, *numbers, program.sentences + 1]))
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
    program = ClaimRecords(tuple(names), tuple(names), sentences, periods=(), description_chars=5, maximum=2)
    result = thrown(program, seed, 12)
    assert check_claims(program, result) == 0 or sentences


def test_no_claim_is_written_twice_even_where_little_can_be_said() -> None:
    # One subject, no object, one type, one sentence: the three statuses are all that there is.
    most = 0
    for seed in range(12):
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
    good = "(ADA HOLM<|>NONE<|>FRAUD<|>TRUE<|>NONE<|>NONE<|>She did.<|>1)##\n"
    turned = "(ADA HOLM<|>NONE<|>FRAUD<|>FALSE<|>2020-01-02T00:00:00<|>2019-01-02T00:00:00<|>No.<|>2)##\n"
    bad = good.replace("ADA HOLM", "NOBODY")
    written = Written(FREE)
    take_claims(FREE, written, split_claims(FREE, good + bad + good + turned + "(ADA HOLM<|>NO"))
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
    "changes", [{"sentences": 41}, {"max_quotes": 0}, {"tuple_delimiter": ""}, {"record_delimiter": "a)"}]
)
def test_a_program_without_sense_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ConstraintError):
        driver_for(ClaimRecords(**{"subjects": ("A",), "objects": (), "sentences": 2, **changes}))  # type: ignore[arg-type]


def test_the_grammar_of_many_sentences_stays_small() -> None:
    driver = driver_for(ClaimRecords(("A",), (), 40))
    step = driver.first()
    for text in ("(A<|>", "NONE<|>FINE<|>", "TRUE<|>NONE<|>", "NONE<|>Said.<|>"):
        following = driver.following(text)
        assert following is not None
        step = following
    assert len(to_gbnf(step.lark)) < 60_000
