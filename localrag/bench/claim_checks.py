"""Measures the check of citations on open claims: which sentences support a claim, and whether they do."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from statistics import mean
from typing import Any

from localrag.answering.checking import Verdict, check
from localrag.answering.grounds import supporting
from localrag.answering.particulars import Ground, particulars
from localrag.errors import UsageError

CLAIMS = "claims.jsonl"
"""The file that makes a folder such a set."""

VERDICTS: dict[str, Verdict] = {
    "supported": "supported",
    "partially_supported": "partly",
    "not_supported": "not",
}
"""The labels of such a set, as the check says them."""


@dataclass(frozen=True)
class Claim:
    """One claim of a set."""

    id: str
    """The set's own id."""

    text: str
    """The claim."""

    label: Verdict
    """Whether its evidence supports it."""

    evidence: tuple[str, ...]
    """The sentences of the text that it is held against."""

    supporting: tuple[frozenset[int], ...]
    """Each a complete set of the sentences that support it; none where it is not supported."""


@dataclass(frozen=True)
class Checked:
    """What the check says of a claim."""

    claim: Claim
    """The claim."""

    verdict: Verdict
    """The check's word."""

    sentences: tuple[int, ...]
    """Places of the sentences that it rests on, as the check tells them."""

    missing: tuple[str, ...]
    """What does not occur in the evidence."""

    @property
    def f1(self) -> float | None:
        """Of the sentences, against the set that fits best; None where nothing supports the claim."""
        if not self.claim.supporting:
            return None
        return max(_f1(frozenset(self.sentences), wanted) for wanted in self.claim.supporting)


@dataclass(frozen=True)
class ClaimChecks:
    """The check on a whole set."""

    rows: tuple[Checked, ...]
    """One for each claim."""

    def figures(self) -> dict[str, float]:
        """`claims`; `sentence_f1` of those that something supports; `accuracy`, `macro_f1` of the verdicts.

        Empty without claims.
        """
        if not self.rows:
            return {}
        scores = [row.f1 for row in self.rows if row.f1 is not None]
        right = [row.verdict == row.claim.label for row in self.rows]
        return {
            "claims": float(len(self.rows)),
            "sentence_f1": round(mean(scores), 4) if scores else 0.0,
            "accuracy": round(mean(right), 4),
            "macro_f1": round(mean(self._verdict_f1(label) for label in VERDICTS.values()), 4),
        }

    def lines(self) -> Iterator[str]:
        """One line of JSON a claim, for whoever wants to see what was checked how."""
        for row in self.rows:
            told = {
                "id": row.claim.id,
                "label": row.claim.label,
                "verdict": row.verdict,
                "sentences": list(row.sentences),
                "missing": list(row.missing),
            }
            yield json.dumps(told, ensure_ascii=False)

    def _verdict_f1(self, label: Verdict) -> float:
        hits = sum(row.verdict == row.claim.label == label for row in self.rows)
        told = sum(row.verdict == label for row in self.rows)
        wanted = sum(row.claim.label == label for row in self.rows)
        return 2 * hits / (told + wanted) if told + wanted else 0.0


def claim_sets(folder: Path) -> list[str]:
    """The sets of claims in a folder, by name; none is no error."""
    return sorted(path.parent.name for path in folder.glob(f"*/{CLAIMS}") if path.is_file())


def load_claims(folder: Path) -> list[Claim]:
    """The claims of a set's folder. Raises `UsageError` if a line is not what it should be."""
    path = folder / CLAIMS
    claims = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.strip():
            try:
                claims.append(_claim(json.loads(line)))
            except (ValueError, KeyError, TypeError) as error:
                raise UsageError(f"Line {number} of {path} is no claim: {error}.") from error
    return claims


def measure_claims(folder: Path) -> ClaimChecks:
    """Check all claims of a set's folder. Raises `UsageError` as `load_claims` does."""
    return check_claims(load_claims(folder))


def check_claims(claims: Sequence[Claim]) -> ClaimChecks:
    """Check claims as sentences of an answer are checked, their evidence being what they cite."""
    return ClaimChecks(tuple(_checked(claim) for claim in claims))


def _checked(claim: Claim) -> Checked:
    statement = particulars(claim.text)
    ground = _ground(claim.evidence)
    found = check(statement, ground)
    return Checked(claim, found.verdict, tuple(supporting(statement, ground.sentences)), found.missing)


def _ground(evidence: Sequence[str]) -> Ground:
    """The evidence as one text, cut as the set cuts it."""
    ends = list(accumulate(len(sentence) + 1 for sentence in evidence))
    spans = [(end - 1 - len(sentence), end - 1) for end, sentence in zip(ends, evidence, strict=True)]
    return Ground("\n".join(evidence), spans)


def _claim(row: dict[str, Any]) -> Claim:
    sets = [frozenset(int(place) for place in places) for places in row["supporting"]]
    return Claim(
        id=str(row["id"]),
        text=str(row["claim"]),
        label=VERDICTS[row["label"]],
        evidence=tuple(str(sentence) for sentence in row["evidence"]),
        supporting=tuple(places for places in sets if places),
    )


def _f1(found: frozenset[int], wanted: frozenset[int]) -> float:
    hits = len(found & wanted)
    return 2 * hits / (len(found) + len(wanted)) if hits else 0.0
