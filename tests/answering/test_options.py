"""Options of a question survive being kept with it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from localrag.answering.options import AskOptions, Turn, from_json, to_json
from localrag.store.claim_rows import ClaimTest
from localrag.store.filters import Filter

WORDS = st.lists(st.text(max_size=5), max_size=2).map(tuple)
TESTS = st.none() | st.builds(ClaimTest, WORDS, WORDS)
TIMES = st.none() | st.datetimes(timezones=st.just(UTC))
FILTERS = st.builds(
    Filter,
    documents=st.lists(st.integers(1, 9), max_size=2).map(tuple),
    tags=WORDS,
    folder=st.text(max_size=5),
    media_types=WORDS,
    entity_types=WORDS,
    claims=TESTS,
    without_claims=TESTS,
    modified_from=TIMES,
    modified_until=TIMES,
    added_from=TIMES,
    added_until=TIMES,
)
OPTIONS = st.builds(
    AskOptions,
    mode=st.sampled_from(("auto", "mix")),
    style=st.sampled_from((None, "strict", "flexible")),
    response_type=st.none() | st.text(max_size=5),
    user_prompt=st.text(max_size=5),
    filter=FILTERS,
    keywords=st.sampled_from((None, "auto", "model", "words")),
    rerank=st.none() | st.booleans(),
    limit=st.none() | st.integers(1, 9),
    bases=st.lists(st.sampled_from((Path("/a/b"), Path("/c"))), max_size=2).map(tuple),
    seed=st.none() | st.integers(0, 9),
)


@given(OPTIONS)
def test_options_come_back_as_they_were(options: AskOptions) -> None:
    assert from_json(json.loads(json.dumps(to_json(options)))) == options


def test_only_what_is_not_as_usual_is_kept() -> None:
    assert to_json(AskOptions()) == {}
    day = datetime(2024, 5, 1, tzinfo=UTC)
    kept = to_json(AskOptions(seed=0, filter=Filter(tags=("a",), modified_from=day)))
    assert kept == {"seed": 0, "filter": {"tags": ("a",), "modified_from": "2024-05-01T00:00:00+00:00"}}


def test_where_it_is_stored_and_what_was_said_are_not_part_of_it() -> None:
    options = AskOptions(session=3, history=(Turn("a", "b"),), fresh=True, mode="naive")
    assert to_json(options) == {"mode": "naive"}
    assert from_json(to_json(options)) == replace(AskOptions(), mode="naive")


def test_what_a_later_version_keeps_is_left_out() -> None:
    assert from_json({"colour": "red", "filter": {"smell": 1}, "seed": 4}) == AskOptions(seed=4)
