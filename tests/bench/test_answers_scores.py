"""How answers are compared with the right ones."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.bench.answers_scores import MOST_CHARACTERS, MOST_WORDS, holds, overlap, plain, score, units
from localrag.bench.chinese import simplified
from tests.examples import examples


@pytest.mark.parametrize(
    ("answer", "right", "expected"),
    [
        ("The Halden Bridge.", ["halden bridge"], (1, 1, 1)),
        ("It was Tomas Berg", ["Tomas Berg"], (0, 2 / 3, 1)),
        ("Tomas Bergson", ["Tomas Berg"], (0, 0.5, 0)),
        ("Bergen", ["Berg"], (0, 0, 0)),
        ("Berg", ["Tomas Berg", "Berg"], (1, 1, 1)),
        ("1,250 tons", ["1250 tons"], (1, 1, 1)),
        ("Ｔｏｍａｓ Berg", ["tomas berg"], (1, 1, 1)),
        ("", ["Berg"], (0, 0, 0)),
        ("good light and bees", ["bees&good light"], (0, 6 / 7, 0)),
    ],
)
def test_words(answer: str, right: list[str], expected: tuple[float, float, float]) -> None:
    found = score(answer, right, chinese=False)
    assert (found.em, found.f1, found.contains) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("answer", "right", "expected"),
    [
        ("《四個》。", ["四个"], (1, 1, 1)),
        ("答案是林小川", ["林小川"], (0, 2 * 3 / 9, 1)),
        ("１９４９ 年", ["1949年"], (1, 1, 1)),
        ("林大川", ["林小川"], (0, 4 / 6, 0)),
    ],
)
def test_characters(answer: str, right: list[str], expected: tuple[float, float, float]) -> None:
    found = score(answer, right, chinese=True)
    assert (found.em, found.f1, found.contains) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("answer", "right", "chinese", "hit"),
    [
        ("Yes, both were. No doubt.", "yes", False, True),
        ("No, although yes was said.", "Yes", False, False),
        ("Nobody knows", "no", False, False),
        ("不是", "否", True, True),
        ("是的，没有问题", "是", True, True),
        ("不對", "是", True, False),
        ("Both were.", "yes", False, False),
    ],
)
def test_yes_and_no_by_the_first_such_word(answer: str, right: str, chinese: bool, hit: bool) -> None:
    assert score(answer, [right], chinese=chinese).em == hit


def test_a_long_answer_contains_nothing() -> None:
    words = "berg " * MOST_WORDS
    assert score(words, ["berg"], chinese=False).contains == 1
    assert score(f"{words} more", ["berg"], chinese=False).contains == 0
    assert score("林" * MOST_CHARACTERS, ["林"], chinese=True).contains == 1
    assert score("林" * (MOST_CHARACTERS + 1), ["林"], chinese=True).contains == 0
    assert holds("林" * 500, ["林"], chinese=True)


def test_what_is_compared_is_the_answer_alone() -> None:
    answer = "**Tomas Berg** [1][2] [unverified] [General Knowledge]\n\n### References\n- [DC] bridge.md\n"
    assert plain(answer) == "Tomas Berg"
    assert plain("林小川[1]。[未证实]\n\n### 参考资料\n- [DC] 茶馆.md\n") == "林小川。"


TEXTS = st.text(alphabet="ab Tñ.,-!國国林12的", max_size=30)


@settings(max_examples=examples(300), deadline=None)
@given(TEXTS, TEXTS, st.booleans())
def test_the_scores_keep_their_order(answer: str, right: str, chinese: bool) -> None:
    found = score(answer, [right], chinese=chinese)
    assert 0 <= found.f1 <= 1
    assert not found.em or found.f1 == 1
    assert not (found.em and units(right, chinese=chinese)) or found.contains == 1
    assert not found.contains or found.f1 > 0
    said, wanted = units(answer, chinese=chinese), units(right, chinese=chinese)
    assert overlap(said, wanted) == overlap(wanted, said)


def test_both_ways_of_writing_fold_to_one() -> None:
    assert (
        simplified("蘇聯佔領區在哪一年時成為德意志民主共和國") == "苏联占领区在哪一年时成为德意志民主共和国"
    )
    assert simplified(simplified("發展")) == simplified("发展") == "发展"
    assert simplified("Berg 1931") == "Berg 1931"
