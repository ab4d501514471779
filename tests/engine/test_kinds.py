"""Models that remember in other ways are recognised, and served or refused with the reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from localrag.engine.client import WorkerModel
from localrag.engine.gguf import inspect
from localrag.engine.gguf_format import RECURRENT, STATE_ONLY
from localrag.engine.kinds import check_file, check_kind, memory_of
from localrag.engine.llama import Context, Entry, Model
from localrag.engine.options import EngineOptions
from localrag.engine.programs import Grammar
from localrag.engine.types import Generation, GenerationRequest, Message, Piece
from localrag.errors import ModelInvalid
from tests.engine.random_kinds import WINDOW, build_hybrid, build_state, build_window
from tests.engine.random_model import build


@pytest.mark.parametrize(
    ("make", "memory"),
    [(build, "attention"), (build_window, "window"), (build_hybrid, "hybrid"), (build_state, "state")],
)
def test_the_file_and_the_library_agree(tmp_path: Path, make: Callable[[Path], Path], memory: str) -> None:
    info = inspect(make(tmp_path / "m.gguf"))
    assert memory_of(info) == memory
    model = Model(info.path)
    assert (model.recurrent, model.hybrid) == (memory in ("state", "hybrid"), memory == "hybrid")
    assert model.sliding_window == (WINDOW if memory == "window" else 0)
    model.close()


@pytest.mark.parametrize(
    ("make", "said"),
    [(build_state, "running state of what it read:"), (build_hybrid, "state of what it read in part of")],
)
def test_a_running_state_is_refused_before_it_is_loaded(
    tmp_path: Path, make: Callable[[Path], Path], said: str
) -> None:
    path = make(tmp_path / "m.gguf")
    with pytest.raises(ModelInvalid, match=said):
        check_file(inspect(path))
    with pytest.raises(ModelInvalid, match=said) as caught:
        WorkerModel(path).describe()
    assert "Qwen" in caught.value.hint


def loaded(**values: object) -> SimpleNamespace:
    known = {
        "recurrent": False,
        "hybrid": False,
        "diffusion": False,
        "has_encoder": False,
        "sliding_window": 0,
    }
    return SimpleNamespace(**{**known, **values})


def test_the_library_has_the_last_word(random_gguf: Path) -> None:
    # A file of an architecture that this version does not know by name.
    info = replace(inspect(random_gguf), architecture="new")
    assert check_kind(info, loaded()) == "attention"
    assert check_kind(info, loaded(sliding_window=512)) == "window"
    for values, said in (
        ({"recurrent": True}, "running state"),
        ({"recurrent": True, "hybrid": True}, "in part of its layers"),
        ({"diffusion": True}, "all words at once"),
        ({"has_encoder": True}, "encoder"),
    ):
        with pytest.raises(ModelInvalid, match=said):
            check_kind(info, loaded(**values))


def test_names_of_architectures_are_those_of_the_format() -> None:
    gguf = pytest.importorskip("gguf")
    known = set(gguf.MODEL_ARCH_NAMES.values())
    # Some are newer than the package that writes files.
    newer = {"qwen4exp", "kimi-k3", "bailingmoe3", "glm5-next", "deepseek4", "minimax-01"}
    assert known.issuperset(STATE_ONLY)
    assert known.issuperset(RECURRENT - newer)


def ask(system: str, text: str, seed: int, *, shared: bool) -> GenerationRequest:
    messages = (Message("system", (Piece(system, shared),)), Message("user", (Piece(text),)))
    return GenerationRequest("test", messages, Grammar("start: /[a-z]{12}/"), 24, temperature=1.0, seed=seed)


def test_with_a_sliding_window_texts_share_a_prefix_and_write_the_same(tmp_path: Path) -> None:
    worker = WorkerModel(
        build_window(tmp_path / "m.gguf"), EngineOptions(n_ctx=4096, sequences=1, threads=1, prefix_mb=0)
    )
    # Longer than the window, so that its beginning lies behind it when the text is written.
    system = "The harbour office wrote a letter to the people of the island. " * 6

    def written(*, shared: bool) -> list[Generation]:
        requests = [ask(system, f"text {i}", i, shared=shared) for i in range(4)]
        return [event for _, event in worker.run(requests) if isinstance(event, Generation)]

    try:
        together, alone = written(shared=True), written(shared=False)
    finally:
        worker.close()
    assert [g.error for g in together + alone] == [""] * 8
    assert [g.text for g in together] == [g.text for g in alone]
    assert all(g.shared_tokens > 2 * WINDOW for g in together)
    assert len({g.text for g in together}) > 1


def test_with_a_sliding_window_a_text_can_go_back(tmp_path: Path) -> None:
    model = Model(build_window(tmp_path / "m.gguf"))
    context = Context(model, n_ctx=1024, sequences=2, threads=1, batch=256)
    tokens = [7 + i % 50 for i in range(4 * WINDOW)]
    context.decode([Entry(t, i, 0, i == len(tokens) - 1) for i, t in enumerate(tokens)])
    first = context.logits(len(tokens) - 1).copy()
    keep = 2 * WINDOW
    context.remove(0, keep)
    context.decode([Entry(t, keep + i, 0, i == len(tokens) - keep - 1) for i, t in enumerate(tokens[keep:])])
    assert abs(context.logits(len(tokens) - keep - 1) - first).max() < 1e-3
    context.close()
    model.close()
