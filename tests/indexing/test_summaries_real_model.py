"""The small real model sums up: a line of prose in the right language, within bounds, of its sources."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localrag.catalogue.installed import find_model
from localrag.engine.client import WorkerModel
from localrag.engine.options import EngineOptions
from localrag.engines import Engines
from localrag.indexing.summary_events import SummaryWritten
from localrag.sections import SummarySettings
from localrag.settings import Settings
from localrag.store import Store
from localrag.summarising import Summarised, summarise
from tests.store.helpers import add_lines, entity, generation, reading, session_of

pytestmark = pytest.mark.model

SAID = {
    "Marta Lind": (
        "Marta Lind was an engineer from Halden. <|im_end|>",
        "She built the Halden Bridge in 1931.",
        "Marta Lind bought the old mill in 1934 and made it a workshop.",
        "She founded the Kvern Works with her brother Nils.",
        "Marta Lind died in 1962, aged 71.",
    ),
    "陈玉兰": (
        "陈玉兰于1988年在青石镇开办了临江茶馆。",
        "陈玉兰是林小川的师傅。",
        "她每年春天到山里收茶。",
        "2005年，陈玉兰把茶馆交给徒弟林小川。",
    ),
}


@pytest.fixture(scope="module")
def small() -> Iterator[WorkerModel]:
    worker = WorkerModel(
        find_model("qwen2.5-coder-0.5b-instruct", "chat"), EngineOptions(n_ctx=2048, sequences=4)
    )
    yield worker
    worker.close()


def test_a_small_model_sums_up_in_parts_and_in_both_languages(small: WorkerModel, tmp_path: Path) -> None:
    chosen = Settings(summaries=SummarySettings(join_count=2, input_tokens=100, length=40))
    with Store.create(tmp_path / "said.localrag") as store:
        for name, texts in SAID.items():
            chunks = add_lines(store, *(f"{name}: {text}" for text in texts))
            for chunk, text in zip(chunks, texts, strict=True):
                store.graph.record(chunk, reading([entity(name, text)]), generation())
        with store.transaction():
            session_of(store).run("UPDATE chunks SET language = 'zh' WHERE text LIKE '陈%'")
        events = list(summarise(store, Engines(chosen, small), chosen))
        written = [event for event in events if isinstance(event, SummaryWritten)]
        assert {event.name for event in written} == set(SAID)
        # Five descriptions are more than 100 tokens, so their parts are summed up first.
        assert max(event.calls for event in written) > 1
        assert isinstance(events[-1], Summarised)
        for name, texts in SAID.items():
            text = store.graph.find_by_keys([name.lower()])[0].summary
            assert 0 < len(text) <= 40 * 6 + 1
            assert "\n" not in text
            assert text[0] not in '{[-*#"'
            assert any("一" <= char <= "鿿" for char in text) == (name == "陈玉兰")
            numbers = "".join(char if char.isdigit() else " " for char in text).split()
            assert set(numbers) <= set("".join(c if c.isdigit() else " " for c in "".join(texts)).split())
        assert store.check() == []
