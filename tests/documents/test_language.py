"""Languages told by script and function words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrag.documents.language import detect


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The ferry left at eight, and the keeper was not there.", "en"),
        ("Die Fähre fährt um acht Uhr ab, und der Kapitän ist noch nicht da.", "de"),
        ("Le phare est au bout de la pointe, et le gardien n'est pas là.", "fr"),
        ("El faro está en la punta y el guardián no está en su casa.", "es"),
        ("Il faro è alla fine della punta e il guardiano non c'è.", "it"),
        ("O farol fica na ponta, e o guarda não está em casa.", "pt"),
        ("De vuurtoren staat op de punt en de wachter is er niet.", "nl"),
        ("灯塔亮了，船回来了。", "zh"),
        ("燈塔亮了，船回來了。", "zh"),
        ("周宁在凯尔桑（Kelsand）坐渡船“三趾鹬号”（Sanderling）去岛上。", "zh"),
        ("灯台の近くに小さな家がありました。", "ja"),
        ("작은 마을에 오래된 등대가 있었습니다.", "ko"),
        ("Лодка стояла у старого причала.", "ru"),
        ("Човен стояв біля старого причалу, її ніхто не знав.", "uk"),
        ("الفانوس يضيء البحر", "ar"),
        ("فانوس دریایی چراغ بزرگی دارد که پیداست", "fa"),
        ("המגדלור מאיר את הים", "he"),
        ("Ο φάρος φωτίζει τη θάλασσα", "el"),
        ("ประภาคารส่องแสง", "th"),
        ("दीपस्तंभ समुद्र को रोशन करता है", "hi"),
        ("The word 灯塔 means lighthouse, and 船 means ship.", "en"),
        ("", "en"),
        ("1974, 2003, 2018", "en"),
        ("Marie Dupont", "en"),
        ("Zürich", "en"),
    ],
)
def test_detect(text: str, expected: str) -> None:
    assert detect(text) == expected


def test_a_long_text_is_told_by_all_its_parts() -> None:
    assert (
        detect("Licence text in English, and that is not the book. " * 200 + "灯塔亮了，船回来了。" * 4_000)
        == "zh"
    )


@given(st.text(max_size=200))
def test_any_text_has_a_language(text: str) -> None:
    assert len(detect(text)) == 2
