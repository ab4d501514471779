"""The measure of the store: its data are what they should be, and its numbers come from real searches."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from localrag.bench import store as bench
from localrag.bench.store import StoreRow, as_json, measure
from localrag.bench.store_data import FOLDERS, PER_DOCUMENT, Data
from localrag.bench.store_queries import Searches
from localrag.errors import Cancelled, LocalragError, UsageError
from localrag.store import Store
from localrag.store.filters import Filter
from localrag.store.function_words import CHINESE, ENGLISH


def test_data_are_the_same_every_time_and_a_larger_set_begins_with_the_smaller() -> None:
    small, large = list(Data(16).batches(120)), list(Data(16).batches(300))
    assert [len(batch.chunks) for batch in small] == [50, 50, 20]
    for one, other in zip(small[:2], large[:2], strict=True):
        assert one.document == other.document
        assert one.chunks == other.chunks
        assert np.array_equal(one.vectors, other.vectors)
    assert Data(16).questions(4, 300)[3].text == Data(16).questions(4, 300)[3].text
    assert Data(16, seed=5).questions(1, 300)[0].text != Data(16).questions(1, 300)[0].text


def test_texts_have_the_length_the_languages_and_the_distribution() -> None:
    batches = list(Data(16).batches(1000))
    for batch in batches:
        for chunk in batch.chunks:
            assert chunk.text == batch.document.text[chunk.start : chunk.end]
            assert 700 <= len(chunk.text) <= 900
    english = Counter(word for batch in batches[::2] for word in batch.document.text.replace(".", "").split())
    ranked = [count for _, count in english.most_common()]
    # Zipf: the hundredth word is about a hundredth of the first one.
    assert 15 < ranked[0] / ranked[99] < 250
    assert set(dict(english.most_common(20))) <= ENGLISH
    assert all("\u4e00" <= char <= "\u9fff" or char in "。\n" for char in batches[1].document.text)
    assert sum(any(word in chunk.text for word in CHINESE) for chunk in batches[1].chunks) == PER_DOCUMENT


def test_vectors_lie_as_real_ones_do() -> None:
    vectors = np.concatenate([batch.vectors for batch in Data(384).batches(2000)])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)
    cosines = vectors[:1000] @ vectors[1000:].T
    assert 0.6 < cosines.mean() < 0.85
    spectrum = np.linalg.svd(vectors - vectors.mean(axis=0), compute_uv=False) ** 2
    assert spectrum[:40].sum() > 0.4 * spectrum.sum()
    # One cluster, not one point.
    best = np.sort(vectors[:200] @ vectors.T, axis=1)[:, -2]
    assert best.max() < 0.9999


def test_questions_have_eight_words_common_and_rare_ones() -> None:
    questions = Data(16).questions(40, 1000)
    texts = " ".join(batch.document.text for batch in Data(16).batches(1000))
    for number, question in enumerate(questions):
        words = question.text.split()
        assert len(words) == 8
        assert number % 2 == 0 or all(len(word) == 2 for word in words)
    counts = [sorted(texts.count(word) for word in question.text.split()) for question in questions]
    assert np.median([count[0] for count in counts]) <= 5
    assert np.median([count[-1] for count in counts]) >= 15


def test_the_filter_of_the_measure_keeps_a_hundredth(tmp_path: Path) -> None:
    with Store.create(tmp_path / "a.localrag") as store:
        for batch in Data(8).batches(FOLDERS * PER_DOCUMENT // 5):
            store.documents.add(replace(batch.document, text=batch.document.text[:50]), [])
        assert len({row.path.split("/")[0] for row in store.documents.list()}) == FOLDERS // 5
        ids = store.filters.ids(Filter(folder="part-07"), "chunk")
        assert ids is not None


def test_every_number_is_measured(tmp_path: Path) -> None:
    steps: list[str] = []
    (row,) = measure([5000], tmp_path / "kept", lambda text, done, total: steps.append(text))
    assert row.chunks == 5000
    for item in fields(StoreRow):
        assert getattr(row, item.name) > 0, item.name
    assert row.recall_at_20 == 1.0
    assert row.fulltext_recall_at_20 == 1.0
    assert row.hybrid_ms >= row.knn_filtered_ms
    assert row.peak_rss_mb > row.own_mb
    assert 5000 * 384 * 4 / 1e6 < row.cache_mb < 5000 * 384 * 4.2 / 1e6
    assert set(steps) == {"Storing 5,000 chunks", "Searching in 5,000 chunks"}
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["generated-5000.localrag"]
    assert as_json([row])["sizes"][0]["hybrid_ms"] == row.hybrid_ms
    with Store.open(tmp_path / "kept" / "generated-5000.localrag") as store:
        searches = Searches(store)
        question = Data(384).questions(1, 5000)[0]
        kept = searches.kept()
        assert kept is not None
        assert len(kept) == 50
        assert set(searches.hybrid(question, kept)) <= set(kept)
        assert len(searches.hybrid(question)) == 20
        assert set(searches.hybrid(question)) <= {*searches.fulltext(question), *range(1, 5001)}
    with pytest.raises(UsageError, match="there already"):
        measure([5000], tmp_path / "kept")


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    stop = threading.Event()

    def stopping(text: str, done: int, total: int) -> None:
        stop.set()

    with pytest.raises(Cancelled):
        measure([5000], None, stopping, stop)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_without_room_is_told_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "_BYTES", 10**15)
    with pytest.raises(UsageError, match="GB are free"):
        measure([1000], tmp_path / "kept")
    assert list((tmp_path / "kept").iterdir()) == []


def test_a_searching_process_that_fails_says_why(tmp_path: Path) -> None:
    (tmp_path / "bad.localrag").write_text("no database")
    with pytest.raises(LocalragError, match="not a knowledge base"):
        bench._queried(tmp_path / "bad.localrag", 100, tmp_path / "cache", threading.Event())
