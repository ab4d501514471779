"""The real models: the embedder against arithmetic done without llama.cpp, and the small language model."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest

from localrag.catalogue.installed import find_model
from localrag.catalogue.pull import fetch_member
from localrag.engine.client import WorkerEmbedder, WorkerModel
from localrag.engine.options import EngineOptions
from localrag.engine.programs import Choice, JsonSchema
from localrag.engine.types import Generation, GenerationRequest, Message, Piece
from tests.reference_embedding import ReferenceModel

pytestmark = pytest.mark.model

SENTENCES = (
    "The lighthouse keeper wrote the hour of every ship into the log.",
    "query: When does the last ferry leave the island?",
    "passage: The tide tables for the year are printed in the harbour office.",
    "灯塔看守人把每艘船经过的时间写进日志。",
    "query: 最后一班渡轮几点离开岛屿？",
    "passage: 港务办公室印制全年的潮汐表。",
    "Ａ full-width ｌｉｎｅ，with（brackets）：and！marks？",
    "Tabs\tand\nnew lines\u3000and wide blanks",
    "Crème brûlée naïve façade — cafe\u0301",
    "  leading and trailing blanks  ",
    "Numbers 3.14, 2026-11-30, €12 and ORA-01555",
    "<s> markers </s> stay <mask> text",
    "Ελληνικά, русский, العربية, हिन्दी, ไทย",
    "한국어 문장입니다。日本語の文章です。",
    "short",
    "an emoji 🙂 here",
    "ALL CAPITALS AND lower case",
    "A sentence, with: many; marks - and \"quotes\" 'too' (really)!",
    "The keeper's daughter keeps bees; bees keep the garden.",
    "word " * 700,
)


@pytest.fixture(scope="module")
def e5() -> Iterator[WorkerEmbedder]:
    worker = WorkerEmbedder(
        find_model("multilingual-e5-small", "embed"),
        EngineOptions(threads=2),
        query_prefix="query: ",
        passage_prefix="passage: ",
    )
    yield worker
    worker.close()


@pytest.fixture(scope="module")
def small() -> Iterator[WorkerModel]:
    worker = WorkerModel(
        find_model("qwen2.5-coder-0.5b-instruct", "chat"), EngineOptions(n_ctx=4096, sequences=4)
    )
    yield worker
    worker.close()


@pytest.mark.parametrize(
    ("text", "ids"),
    [("Hello", [0, 35378, 2])],
)
def test_fixed_token_ids(e5: WorkerEmbedder, text: str, ids: list[int]) -> None:
    assert e5.token_ids([text]) == [ids]


def test_the_normaliser_is_in_the_file(e5: WorkerEmbedder) -> None:
    """Without its table, newlines, wide blanks and full-width marks become unknown tokens (id 3)."""
    for ids in e5.token_ids(["a\nb\tc\u3000d", "，（）：！？", "<s> in text", "cafe\u0301"]):
        assert ids[0] == 0
        assert ids[-1] == 2
        assert 3 not in ids
        assert ids.count(0) == 1
    wide, plain = e5.token_ids(["ａ，ｂ", "a,b"])
    assert wide == plain


def test_vectors_agree_with_arithmetic_apart_from_llama(e5: WorkerEmbedder) -> None:
    source = fetch_member("multilingual-e5-small", "e5-small-q4.bin")
    reference = ReferenceModel(source)
    ids = e5.token_ids([f"passage: {text}" for text in SENTENCES])
    expected = np.stack([reference.embed(row) for row in ids])
    found = e5.embed(SENTENCES, "passage")
    cosines = (expected * found).sum(axis=1)
    assert float(cosines.min()) >= 0.9995


def test_a_batch_gives_what_single_calls_give(e5: WorkerEmbedder) -> None:
    together = e5.embed(SENTENCES, "passage")
    apart = np.concatenate([e5.embed([text], "passage") for text in SENTENCES])
    assert float((together * apart).sum(axis=1).min()) >= 0.9999


PAIRS = (
    ("When does the last ferry leave?", "The last boat to the island departs at nine in the evening."),
    ("Who repaired the lamp?", "In March a mechanic from the mainland mended the lighthouse's light."),
    ("What do the bees need?", "Honey insects want flowers, water and a quiet place out of the wind."),
)
CHINESE = (
    ("最后一班渡轮几点开？", "去岛上的末班船晚上九点出发。"),
    ("谁修好了灯？", "三月里，一位从大陆来的技工修好了灯塔的灯。"),
    ("蜜蜂需要什么？", "蜜蜂要有花、有水，还要一个避风的安静地方。"),
)


@pytest.mark.parametrize(
    ("questions", "passages"),
    [
        ([q for q, _ in PAIRS], [p for _, p in PAIRS]),
        ([q for q, _ in CHINESE], [p for _, p in CHINESE]),
        ([q for q, _ in CHINESE], [p for _, p in PAIRS]),
        ([q for q, _ in PAIRS], [p for _, p in CHINESE]),
    ],
    ids=["english", "chinese", "chinese to english", "english to chinese"],
)
def test_known_pairs_are_ranked_rightly(
    e5: WorkerEmbedder, questions: list[str], passages: list[str]
) -> None:
    scores = e5.embed(questions, "query") @ e5.embed(passages, "passage").T
    assert scores.argmax(axis=1).tolist() == [0, 1, 2]


def test_a_text_beyond_the_positions_is_cut_and_does_not_end_the_process(e5: WorkerEmbedder) -> None:
    (ids,) = e5.token_ids(["word " * 700])
    assert len(ids) == 512
    assert ids[-1] == 2
    assert e5.embed(["word " * 700], "passage").shape == (1, 384)


def test_minilm_ranks_english_pairs() -> None:
    worker = WorkerEmbedder(find_model("all-minilm-l6-v2", "embed"), EngineOptions(threads=2), limit=256)
    try:
        scores = (
            worker.embed([q for q, _ in PAIRS], "query") @ worker.embed([p for _, p in PAIRS], "passage").T
        )
        assert scores.argmax(axis=1).tolist() == [0, 1, 2]
    finally:
        worker.close()


def _run(model: WorkerModel, text: str, program: Choice | JsonSchema) -> str:
    request = GenerationRequest("test", (Message("user", (Piece(text),)),), program, 120)
    return next(event.text for event in model.stream(request) if isinstance(event, Generation))


def test_the_small_model_answers_under_a_choice(small: WorkerModel) -> None:
    assert _run(small, "Is Paris a city in France? Answer yes or no.", Choice(("yes", "no"))) == "yes"


def test_the_small_model_fills_a_schema(small: WorkerModel) -> None:
    schema = {
        "type": "object",
        "properties": {
            "cities": {"type": "array", "items": {"type": "string", "maxLength": 20}, "maxItems": 3}
        },
        "required": ["cities"],
        "additionalProperties": False,
    }
    value = json.loads(_run(small, "Name cities in Italy as JSON with the key cities.", JsonSchema(schema)))
    assert "Rome" in value["cities"]
