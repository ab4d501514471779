"""Whom the sentences of a chunk speak of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from localrag.extraction.claim_sentences import spoken_sentences
from localrag.graph.names import fold
from localrag.store.report_rows import ClaimName


def names(*given: str) -> list[ClaimName]:
    return [ClaimName(fold(name), name, "person", fold(name)) for name in given]


@pytest.mark.parametrize(
    ("text", "code", "given", "expected"),
    [
        # A capitalised word of the name means it, the same word in another case does not.
        ("Elin Marsh came. Marsh left. A marsh lay there.", "en", ["Elin Marsh"], [1, 1, 0]),
        # A pronoun, and a noun that begins a sentence without a name, mean whom the text spoke of.
        ("Elin Marsh came. She left. Rain fell. The woman sang.", "en", ["Elin Marsh"], [1, 1, 0, 1]),
        # But not for ever, and not without anybody before.
        ("She left. Elin Marsh came. Fog. Rain. Fog. Rain. He left.", "en", ["Elin Marsh"], None),
        # A name inside of another is not meant by it; case and line breaks do not matter.
        ("The TARN\ninstitute warned. The Tarn rose.", "en", ["Tarn", "Tarn Institute"], [{1}, {0}]),
        ("北河日报报道了此事。王小明否认。他走了。", "zh", ["北河", "北河日报", "王小明"], [{1}, {2}, {2}]),
        ("李文秀创办了云锦书院。书院于2010年关闭。", "zh", ["李文秀", "云锦书院"], [{0, 1}, {1}]),
        # Chinese leaves out who was just spoken of; so may a language whose pronouns are not known.
        ("王小明走了。后来回来了。", "zh", ["王小明"], [1, 1]),
        ("Jan Novák přišel. Potom odešel.", "cs", ["Jan Novák"], [1, 1]),
    ],
)
def test_who_is_spoken_of(
    text: str, code: str, given: list[str], expected: list[int | set[int]] | None
) -> None:
    spoken = [
        {place for place, name in enumerate(given) if fold(name) in sentence.speaks_of}
        for sentence in spoken_sentences(text, code, names(*given))
    ]
    if expected is None:
        assert spoken[0] == set()
        assert spoken[-1] == set()
    else:
        assert spoken == [
            ({0} if item == 1 else set()) if isinstance(item, int) else item for item in expected
        ]


def test_all_names_of_an_entity_are_spoken_of_by_one() -> None:
    given = names("Elin Marsh", "Nell")
    given[1] = replace(given[1], entity_key=given[0].key)
    (sentence,) = spoken_sentences("Nell came.", "en", given)
    assert sentence.speaks_of == {"elin marsh", "nell"}


def test_a_sentence_has_the_times_that_it_names() -> None:
    text = "Elin Marsh came in 1998. She left on 3 May."
    first, second = spoken_sentences(text, "en", names("Elin Marsh"))
    assert [(period.start, period.end) for period in first.periods] == [("1998-01-01", "1998-12-31")]
    assert [period.start for period in second.periods] == ["1998-05-03"]
