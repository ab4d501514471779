"""The check of citations is measured on claims with known support."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from localrag.answering.checking import Verdict
from localrag.bench.claim_checks import Checked, Claim, ClaimChecks, claim_sets, load_claims, measure_claims
from localrag.errors import UsageError

EVIDENCE = [
    "Harbour news",
    "The ferry Nordlys has crossed the strait since 1931.",
    "It was built by the Kvern Works for 1,500 crowns.",
    "Herring is landed in autumn.",
]
ROWS = [
    ("a", "The ferry Nordlys crosses the strait since 1931.", "supported", [[1], [0, 1]]),
    ("b", "The ferry Nordlys was built by the Kvern Works in 1950.", "partially_supported", [[1, 2]]),
    ("c", "Anders Ruud sells tickets at a booth near the market square.", "not_supported", [[]]),
]


def stored(folder: Path, rows: list[dict[str, object]]) -> Path:
    (folder / "boats").mkdir()
    (folder / "boats" / "claims.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "boats"


def rows() -> list[dict[str, object]]:
    return [
        {"id": name, "claim": text, "label": label, "evidence": EVIDENCE, "supporting": sets}
        for name, text, label, sets in ROWS
    ]


def test_claims_are_checked_as_the_product_checks_sentences(tmp_path: Path) -> None:
    folder = stored(tmp_path, rows())
    assert claim_sets(tmp_path) == ["boats"]
    found = measure_claims(folder)
    assert [row.verdict for row in found.rows] == ["supported", "partly", "not"]
    assert [row.missing for row in found.rows] == [(), ("1950",), ("Anders Ruud",)]
    assert [sorted(row.sentences) for row in found.rows[:2]] == [[1], [1, 2]]
    assert found.figures() == {"claims": 3.0, "sentence_f1": 1.0, "accuracy": 1.0, "macro_f1": 1.0}
    assert json.loads(next(found.lines())) == {
        "id": "a",
        "label": "supported",
        "verdict": "supported",
        "sentences": [1],
        "missing": [],
    }


def test_the_best_of_several_sets_of_sentences_counts() -> None:
    claim = Claim("x", "", "supported", (), (frozenset({1, 2}), frozenset({3})))
    assert Checked(claim, "supported", (3, 4), ()).f1 == pytest.approx(2 / 3)
    assert Checked(claim, "supported", (), ()).f1 == 0.0
    assert Checked(Claim("y", "", "not", (), ()), "not", (1,), ()).f1 is None


def test_figures_of_wrong_verdicts() -> None:
    labels: tuple[Verdict, ...] = ("supported", "supported", "partly")
    claims = [Claim(str(n), "", label, (), ()) for n, label in enumerate(labels)]
    found = ClaimChecks(tuple(Checked(claim, "supported", (), ()) for claim in claims))
    figures = found.figures()
    assert figures["accuracy"] == pytest.approx(2 / 3, abs=1e-4)
    # Of supported 2 of 3 told are right and all are found; of the others none.
    assert figures["macro_f1"] == pytest.approx(0.8 / 3, abs=1e-4)
    assert ClaimChecks(()).figures() == {}


@pytest.mark.parametrize(
    "broken",
    ["{", '{"id": 1}', '{"id": 1, "claim": "x", "label": "maybe", "evidence": [], "supporting": []}'],
)
def test_a_line_that_is_no_claim_is_named(tmp_path: Path, broken: str) -> None:
    folder = stored(tmp_path, rows()[:1])
    path = folder / "claims.jsonl"
    path.write_text(path.read_text() + broken + "\n")
    with pytest.raises(UsageError, match="Line 2 of "):
        load_claims(folder)
