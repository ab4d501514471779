"""The faults that are known of llama.cpp and its bindings, one by one; `docs/faults.md` lists them all.

Each row of that table names a test, here or elsewhere, or says why the fault is impossible.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import gguf
import llama_cpp as lib
import numpy as np
import pytest
from numpy.typing import NDArray

from localrag.catalogue.installed import find_model
from localrag.engine.batching import Shape
from localrag.engine.client import WorkerEmbedder, WorkerModel
from localrag.engine.embedding import EmbeddingContext
from localrag.engine.job import JobRequest
from localrag.engine.limits import BOUNDS
from localrag.engine.llama import Context, Model
from localrag.engine.matching import Vocabulary
from localrag.engine.options import EngineOptions
from localrag.engine.prefixes import PrefixStore
from localrag.engine.programs import (
    Choice,
    CitedText,
    Field,
    FreeText,
    Grammar,
    JsonSchema,
    Program,
    Record,
    Records,
)
from localrag.engine.scheduler import PREFIXES, Scheduler
from localrag.engine.steps import Step
from localrag.engine.template import ChatTemplate, RenderedPrompt
from localrag.engine.types import Generation, Message, Piece, TextEvent
from localrag.errors import ConstraintError, EngineError, PromptTooLong, UsageError
from tests.engine.random_embedders import build_decoder_embedder
from tests.engine.requests import ask, last, results

pytestmark = pytest.mark.filterwarnings("ignore:llama_token_get_attr is deprecated")

ROOT = Path(__file__).parents[2]
ENGINE = ROOT / "localrag" / "engine"
DANCER = "🧑\u200d🚀"
"""Three code points of eleven bytes, joined to one picture."""


@pytest.fixture(scope="module")
def native(random_gguf: Path) -> Iterator[Model]:
    """A model in this process."""
    loaded = Model(random_gguf)
    yield loaded
    loaded.close()


@pytest.fixture(scope="module")
def vocabulary(native: Model) -> Vocabulary:
    return Vocabulary(native)


@pytest.fixture(scope="module")
def real_vocabulary() -> Iterator[Model]:
    """The vocabulary of a real model, without its weights."""
    loaded = Model(find_model("qwen2.5-coder-0.5b-instruct", "chat"), vocabulary_only=True)
    yield loaded
    loaded.close()


def one(model: WorkerModel, program: Program, **changes: Any) -> Generation:
    """The result of one request."""
    (found,) = results(model.run([ask(program=program, **changes)])).values()
    return found


def sources() -> dict[str, str]:
    """The engine's code; `baseline.py` is the rival that benchmarks measure, not the engine."""
    return {p.name: p.read_text(encoding="utf-8") for p in ENGINE.glob("*.py") if p.name != "baseline.py"}


# The table itself.


def test_every_row_of_the_table_has_a_test_that_exists() -> None:
    table = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \|([^|]+)\|([^|]+)\|([^|]+)\|$", table, re.MULTILINE)
    assert [int(number) for number, *_ in rows] == list(range(1, 38))
    for number, symptom, answer, proof in rows:
        assert symptom.strip(), number
        assert answer.strip(), number
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", proof)
        assert named or proof.strip().startswith("impossible:"), f"row {number} has neither test nor reason"
        for file, test in named:
            code = (ROOT / file).read_text(encoding="utf-8")
            assert re.search(rf"^(async )?def {test}\(", code, re.MULTILINE), f"row {number}: {file}::{test}"


# Grammars.


@pytest.mark.parametrize(
    ("lark", "place", "cause"),
    [
        ("start: missing_rule", "1(8)", "missing_rule"),
        ('start: "a" |\n  ( "b"\n', "2(3)", "expecting rule, token or statement"),
        ('start "a"', "1(7)", "Expected token ':'"),
        ('start: "a"\nstart: "b"', "2(8)", "duplicate rule"),
        ("start: TEXT\nTEXT: /a{5/", "2(7)", "invalid regex"),
        ("start: /[0-9]+/\n%ignore FOO", "2(9)", "FOO"),
    ],
)
def test_a_bad_grammar_is_refused_with_line_and_cause(
    model: WorkerModel, lark: str, place: str, cause: str
) -> None:
    refused = one(model, Grammar(lark))
    assert (refused.finish, refused.output_tokens, refused.deaths) == ("error", 0, 0)
    assert place in refused.error
    assert cause in refused.error
    assert one(model, Choice(("yes",))).text == "yes"


@pytest.mark.parametrize(
    ("schema", "cause"),
    [
        ({"type": "nonsense"}, "nonsense"),
        ({"type": "object", "properties": {"a": {"$ref": "#/x"}}}, "/x"),
        ({"type": "array", "uniqueItems": True}, "uniqueItems"),
        ({"not": {"type": "string"}}, "not"),
    ],
)
def test_a_schema_that_cannot_be_kept_is_refused(
    model: WorkerModel, schema: dict[str, Any], cause: str
) -> None:
    refused = one(model, JsonSchema(schema))
    assert (refused.finish, refused.text) == ("error", "")
    assert cause in refused.error


def test_no_sampler_of_the_native_library_is_used() -> None:
    assert not [name for name, code in sources().items() if "llama_sampler" in code]


def test_every_pointer_is_tested_by_its_truth() -> None:
    """A NULL from ctypes is falsy but is not None."""
    pattern = re.compile(r"= lib\.llama_(?:init|model_load|get_logits|get_embeddings)\w*\(")
    for name, code in sources().items():
        for found in pattern.finditer(code):
            target = code[: found.start()].rsplit("\n", 1)[-1].strip()
            assert f"if not {target}:" in code[found.end() : found.end() + 200], (name, target)


def test_a_token_that_is_not_allowed_is_an_error_and_not_the_end(vocabulary: Vocabulary) -> None:
    matcher = vocabulary.matcher(Step("text", 'start: "yes"\n'))
    with pytest.raises(ConstraintError):
        matcher.accept(vocabulary.encode("no")[0])
    with pytest.raises(ConstraintError):
        matcher.accept(vocabulary.encode("yes")[0])
    assert vocabulary.matcher(Step("text", 'start: "yes"\n')).forced()


@pytest.mark.parametrize("text", ["aab", "aaaaaaa", "abab.abab.abab", "the the the ferry", "港口港口港口"])
def test_each_token_is_taken_once(model: WorkerModel, text: str) -> None:
    for mark in ("1", "2"):
        found = one(model, Grammar(f'start: "{text}" END\nEND: /{mark}[0-9]{{3}}/'))
        assert re.fullmatch(f"{text}{mark}[0-9]{{3}}", found.text)


def forbidden(model: Model) -> list[int]:
    """Control and unused tokens, those that end a text left out."""
    attributes = lib.LLAMA_TOKEN_ATTR_CONTROL | lib.LLAMA_TOKEN_ATTR_UNUSED | lib.LLAMA_TOKEN_ATTR_UNKNOWN
    return [
        token
        for token in range(model.n_vocab)
        if lib.llama_vocab_get_attr(model.vocabulary, token) & attributes and token not in model.ends
    ]


ANYTHING = "start: TEXT\nTEXT: /(.|\\n)+/\n"


def test_no_grammar_allows_a_control_token(vocabulary: Vocabulary, native: Model) -> None:
    check_control(vocabulary, native)


@pytest.mark.model
def test_no_grammar_allows_a_control_token_of_a_real_model(real_vocabulary: Model) -> None:
    check_control(Vocabulary(real_vocabulary), real_vocabulary)


def check_control(vocabulary: Vocabulary, model: Model) -> None:
    matcher = vocabulary.matcher(Step("text", ANYTHING))
    allowed = vocabulary.allowed(matcher._native)
    assert int(allowed.sum()) > vocabulary.size // 2
    assert forbidden(model)
    assert not [token for token in forbidden(model) if token < vocabulary.size and allowed[token]]
    # The end is only allowed where the text may end.
    assert not any(allowed[token] for token in model.ends)
    for token in forbidden(model):
        assert matcher._native.validate_tokens([token]) == 0


@pytest.mark.parametrize(
    "lark",
    [
        "start: a\na: a",
        'start: x "!"\nx: x x | "b"',
        'start: x\nx: x "a" | x x | "b"',
        "start: /(a|a)*(a|aa)*(a*)*b/",
        "start: /(([a-z]{1,500}){1,500}){1,500}/",
        "start: /(a?){300}a{300}/",
        'start: x{0,100000}\nx: "a"',
        'start: "(" start ")" | "x"',
        "start: (x x){500}\nx: /[ab]+/ | /[a-c]+/",
    ],
    ids=range(9),
)
def test_no_grammar_freezes_the_engine(model: WorkerModel, lark: str) -> None:
    began = time.monotonic()
    found = one(model, Grammar(lark), max_tokens=300)
    assert found.finish in ("stop", "length", "error")
    assert found.deaths == 0
    assert time.monotonic() - began < 30


def test_every_field_has_an_end(model: WorkerModel) -> None:
    """A model of random weights would write on for ever."""
    described = Field("description", "text", max_chars=12)
    program = Records((Record("entity", (Field("name", "new", ("A", "B", "C")), described), 3),))
    schema = {"type": "array", "items": {"type": "string", "maxLength": 5}, "maxItems": 2}
    for seed in range(4):
        records = one(model, program, max_tokens=900, temperature=1.5, seed=seed)
        assert records.finish == "stop"
        for segment in records.segments[:-1]:
            assert len(segment.text.removesuffix(")##\n").split("<|>")[2]) <= 12
        text = one(model, JsonSchema(schema), max_tokens=900, temperature=1.5, seed=seed).text
        assert all(len(item) <= 5 for item in json.loads(text))
        assert len(one(model, FreeText(max_chars=9), max_tokens=900, temperature=1.5, seed=seed).text) <= 9


class Counting(Vocabulary):
    """Counts the masks that are built."""

    masks = 0

    def allowed(self, native: Any) -> NDArray[np.bool_]:
        """As ever."""
        self.masks += 1
        return super().allowed(native)


def test_a_mask_is_built_only_when_the_likeliest_token_is_refused(native: Model) -> None:
    vocabulary = Counting(native)
    matcher = vocabulary.matcher(Step("text", "start: /[a-z]{1,90}/\n"))
    rng = np.random.default_rng(0)
    scores = np.zeros(vocabulary.size, dtype=np.float32)
    right, wrong = vocabulary.encode("a")[0], vocabulary.encode("7")[0]
    scores[right] = 1
    assert matcher.choose(scores, 0.0, rng) == right
    assert vocabulary.masks == 0
    scores[wrong] = 2
    assert matcher.choose(scores, 0.0, rng) == right
    assert vocabulary.masks == 1


@pytest.mark.parametrize("text", ["港口办公室", DANCER, "é", "e\u0301", "\u202eabc", "naïve 🏳️‍🌈 ٣", "𒀀"])
def test_any_script_can_stand_in_a_grammar(model: WorkerModel, text: str) -> None:
    assert one(model, Choice((text,))).text == text
    assert one(model, Grammar(f'start: "{text}" /[0-9]/'), max_tokens=90).text[:-1] == text


# Text.


@pytest.mark.parametrize(
    "text", ["\ud800", "\udcff x", "a\ud83d", "\x00", "\uffff", b"\xe6\xb8".decode("latin-1")]
)
def test_text_that_is_no_unicode_is_mended_before_it_is_tokenised(model: WorkerModel, text: str) -> None:
    assert model.count([text])[0] >= 0
    assert last(model.stream(ask(text))).finish in ("stop", "length")


def test_streamed_pieces_never_split_a_character(model: WorkerModel) -> None:
    program = Grammar(f'start: "{DANCER}港口é{DANCER}" /[0-9]{{2}}/')
    events = list(model.stream(ask(program=program, stream=True, max_tokens=120)))
    pieces = [event.text for event in events if isinstance(event, TextEvent)]
    assert "".join(pieces)[:-2] == f"{DANCER}港口é{DANCER}"
    assert not [piece for piece in pieces if "\ufffd" in piece]


def test_a_budget_that_ends_inside_a_character_leaves_whole_text(model: WorkerModel) -> None:
    for most in range(1, 9):
        found = one(model, Grammar(f'start: "{DANCER}" /[0-9]{{4}}/'), max_tokens=most)
        assert "\ufffd" not in found.text
        found.text.encode("utf-8")


def test_a_prompt_too_long_is_refused_alone_and_at_once(model: WorkerModel) -> None:
    room = model.describe().n_ctx
    wanted = [ask("a"), ask("word " * 5000), ask("b", max_tokens=room), ask("c")]
    found = results(model.run(wanted))
    for index in (1, 2):
        assert found[index].finish == "error"
        numbers = [int(n) for n in re.findall(r"\d+", found[index].error)]
        assert numbers[-1] == room
        assert sum(numbers[:2]) > room
    assert {found[0].finish, found[3].finish} <= {"stop", "length"}
    with pytest.raises(PromptTooLong, match=str(room)):
        list(model.stream(wanted[1]))
    assert model.stats()["jobs"] == 0


@pytest.mark.parametrize(
    "options",
    [
        {"n_ctx": 1},
        {"n_ctx": -5},
        {"n_ctx": 2**40},
        {"sequences": 1000},
        {"sequences": -1},
        {"threads": -1},
        {"threads": 100_000},
        {"batch": 1},
        {"batch": -3},
        {"hang_seconds": -1},
    ],
    ids=str,
)
def test_absurd_options_are_refused_before_a_worker_starts(
    random_gguf: Path, options: dict[str, Any]
) -> None:
    (name,) = options
    with pytest.raises(UsageError, match=f"{name} {options[name]}") as caught:
        WorkerModel(random_gguf, EngineOptions(**options))
    assert str(BOUNDS[name][1]) in caught.value.hint


@pytest.mark.parametrize(
    "options", [{"n_ctx": 256}, {"n_ctx": 256, "batch": 8}, {"n_ctx": 512, "sequences": 40}]
)
def test_the_smallest_options_work(random_gguf: Path, options: dict[str, Any]) -> None:
    worker = WorkerModel(random_gguf, EngineOptions(threads=1, **options))
    try:
        assert one(worker, Choice(("yes",))).text == "yes"
    finally:
        worker.close()


# Embedding.


def test_a_vector_that_is_not_there_is_an_error(random_embedder_gguf: Path) -> None:
    model = Model(random_embedder_gguf)
    context = EmbeddingContext(model, threads=1, limit=64)
    try:
        context.embed(["the ferry"])
        with pytest.raises(EngineError, match="no vector"):
            context._vector(9)
    finally:
        context.close()
        model.close()


def test_a_file_that_forgets_its_end_token_gets_it(tmp_path: Path) -> None:
    worker = WorkerEmbedder(
        build_decoder_embedder(tmp_path / "last.gguf", pooling=gguf.PoolingType.LAST),
        EngineOptions(threads=1),
        limit=32,
    )
    try:
        short, long = worker.token_ids(["the ferry", "the ferry " * 40])
        assert short[-1] == long[-1]
        assert short.count(short[-1]) == 1
        assert len(long) == 32
        assert worker.embed(["the ferry"], "passage").shape[0] == 1
    finally:
        worker.close()


# Behaviour of the engine as a whole.


def test_only_one_thread_touches_the_context() -> None:
    """Others use `submit`, `cancel`, `pause` and `stop`, which touch nothing native but the abort flag."""
    code = sources()["worker.py"]
    assert "context.decode" not in code
    listener = code[code.index("def _obey(") : code.index("def _serve_embedding(")]
    assert "chat.context" not in listener


def test_the_worker_writes_nothing_to_the_terminal(
    random_gguf: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    worker = WorkerModel(random_gguf, EngineOptions(n_ctx=1024, sequences=1, threads=1))
    try:
        one(worker, FreeText(), max_tokens=8)
    finally:
        worker.close()
    assert capfd.readouterr() == ("", "")


FORBIDS: list[tuple[Program, str]] = [
    (Choice(("banana",)), "banana"),
    (Grammar("start: /[0-9]{4}/"), "[0-9]{4}"),
    (JsonSchema({"type": "string", "enum": ["banana"]}), '"banana"'),
    (CitedText(sources=1, refusal="[none]"), r"(?s).*(\[1\]|\[none\])"),
    (
        Records((Record("entity", (Field("name", "new", ("banana",)), Field("type", "choice", ("x",))), 1),)),
        r"(?s)(\(entity<\|>banana<\|>x\)##\n)?<\|COMPLETE\|>",
    ),
]


@pytest.mark.parametrize(("program", "pattern"), FORBIDS, ids=lambda value: getattr(value, "kind", ""))
@pytest.mark.parametrize("path", ["run", "stream"])
def test_every_path_obeys_a_grammar_that_forbids_the_natural_answer(
    model: WorkerModel, program: Program, pattern: str, path: str
) -> None:
    request = ask("Is Paris in France? Answer yes or no.", program=program, max_tokens=300, temperature=0.0)
    found = last(model.stream(request)) if path == "stream" else results(model.run([request]))[0]
    if found.finish == "stop":
        assert re.fullmatch(pattern, found.text)
    else:
        assert (found.finish, program.kind) == ("length", "cited")


def test_a_grammar_that_is_used_again_begins_at_its_start(model: WorkerModel) -> None:
    program = Grammar("start: /a[0-9]{3}z/")
    found = results(model.run([ask(program=program, seed=i) for i in range(9)]))
    assert all(re.fullmatch("a[0-9]{3}z", generation.text) for generation in found.values())


def test_neither_the_slow_caches_nor_the_high_level_class_are_used() -> None:
    """It decodes one sequence, applies a grammar to the whole vocabulary, cuts tokens at 32 bytes."""
    names = ("Llama(", "LlamaGrammar", "LlamaRAMCache", "LlamaDiskCache", "save_state", "llama_detokenize(")
    found = [(file, name) for file, code in sources().items() for name in names if f"lib.{name}" in code]
    assert not found


def test_kept_prefixes_stay_under_their_cap(tmp_path: Path) -> None:
    store = PrefixStore(tmp_path, "model", cap=20_000)
    for number in range(12):
        store.save((number, *range(100)), bytes(4000))
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 20_000
    assert store.load((11, *range(100))) == bytes(4000)
    assert store.load((0, *range(100))) is None


def test_a_model_that_thinks_aloud_is_told_not_to() -> None:
    source = "{% for m in messages %}{{ m.content }}{% endfor %}{% if enable_thinking %}<think>{% endif %}"
    seen: list[str] = []

    def tokenize(text: str, special: bool) -> list[int]:
        seen.append(text)
        return [1]

    ChatTemplate(source, "", "").render([Message("user", (Piece("hello"),))], tokenize)
    assert "hello" in seen
    assert not [text for text in seen if "think" in text]


@pytest.mark.model
def test_long_tokens_come_back_whole(real_vocabulary: Model) -> None:
    """Of the many tokens over 32 bytes, each gives all its bytes and makes the same text again."""
    long = [t for t in range(real_vocabulary.n_vocab) if len(real_vocabulary.token_bytes(t)) > 32]
    assert len(long) > 100
    for token in long:
        text = real_vocabulary.token_bytes(token).decode("utf-8")
        again = real_vocabulary.tokenize(text, special=False)
        assert b"".join(real_vocabulary.token_bytes(t) for t in again).decode("utf-8") == text


def test_seed_zero_is_a_seed(random_gguf: Path) -> None:
    worker = WorkerModel(random_gguf, EngineOptions(n_ctx=1024, sequences=1, threads=1))
    try:
        texts = {one(worker, FreeText(), temperature=1.3, seed=0).text for _ in range(3)}
        others = {one(worker, FreeText(), temperature=1.3, seed=seed).text for seed in range(1, 4)}
    finally:
        worker.close()
    assert len(texts) == 1
    assert texts.isdisjoint(others)


# The cache is full against all reckoning.


class Crowd:
    """A real scheduler that believes its cache to be larger than it is."""

    def __init__(self, model: Model, vocabulary: Vocabulary, *, n_ctx: int, sequences: int) -> None:
        self._done: dict[int, dict[str, Any]] = {}
        self._all = threading.Event()
        self._wanted = 0
        self.context = Context(model, n_ctx=n_ctx, sequences=PREFIXES + sequences + 1, threads=1, batch=128)
        believed = cast(Context, Believed(self.context))
        self.scheduler = Scheduler(
            model,
            believed,
            vocabulary,
            sequences=sequences,
            shape=Shape(128, 48),
            emit=self._emit,
        )

    def run(self, vocabulary: Vocabulary, lengths: list[int]) -> dict[int, dict[str, Any]]:
        """Write so many tokens each; the results."""
        self._wanted = len(lengths)
        prompt = RenderedPrompt((), tuple(vocabulary.encode("say some digits")))
        program = Grammar("start: /[0-9]{4000,8000}/")
        for number, length in enumerate(lengths):
            self.scheduler.submit(JobRequest(number, prompt, program, length, 1.0, number, 0, False))
        thread = threading.Thread(target=self.scheduler.run, daemon=True)
        thread.start()
        try:
            assert self._all.wait(20), self.scheduler.stats()
        finally:
            self.scheduler.stop()
            thread.join(10)
        self.context.close()
        return self._done

    def _emit(self, message: dict[str, Any]) -> None:
        if message["event"] == "done":
            self._done[message["id"]] = message
            if len(self._done) == self._wanted:
                self._all.set()


class Believed:
    """The same context with ten times the cells, as far as the scheduler knows."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.n_ctx = context.n_ctx * 10

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


def test_a_full_cache_shrinks_the_batch_and_loses_nothing(native: Model, vocabulary: Vocabulary) -> None:
    crowd = Crowd(native, vocabulary, n_ctx=512, sequences=6)
    done = crowd.run(vocabulary, [200] * 9)
    assert {message["finish"] for message in done.values()} == {"length"}
    assert {message["output_tokens"] for message in done.values()} == {200}
    stats = crowd.scheduler.stats()
    assert (stats["jobs"], stats["waiting"], stats["free_sequences"]) == (0, 0, 7)


def test_one_text_that_alone_fills_the_cache_is_an_error_and_the_others_go_on(
    native: Model, vocabulary: Vocabulary
) -> None:
    done = Crowd(native, vocabulary, n_ctx=512, sequences=3).run(vocabulary, [60, 1500, 60])
    assert done[1]["finish"] == "error"
    assert "full" in done[1]["error"]
    assert {done[0]["finish"], done[2]["finish"]} == {"length"}
