"""Languages told by script and function words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.documents.language import detect, detect_part, is_traditional


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
        ("你好", "zh"),
        ("1988年，Kvern 发布了 Orla-4 和 Halden。", "zh"),
        ("Halden、Orla和青石镇", "zh"),
        ("The Orla mill at 青石镇 is the oldest of the two, and 周宁 was there.", "en"),
        ("用 Python 写代码", "zh"),
        ("東京都庁", "ja"),
        ("県立図書館", "ja"),
        ("カタカナ", "ja"),
        ("他在东京広島住过，后来回到北京，又在青石镇开了一家茶馆。", "zh"),
        ("def foo(x):\n    return x + 1\n# 灯塔", "en"),
        ("for i in range(3): print(i)", "en"),
        ("😀 — …", "en"),
        ("Der Hund und die Katze", "de"),
        ("Het is een mooie dag en de zon schijnt", "nl"),
        ("Båten kom inte till bryggan och hon var ensam.", "sv"),
        ("Skibet kom ikke til havnen, og han blev der efter stormen.", "da"),
        ("Skipet kom ikke til havna, og han ble der etter stormen.", "no"),
        ("Statek się nie zatrzymał, bo latarnia jest na wyspie.", "pl"),
        ("Loď nezastavila, protože je na ostrově, ale také není daleko.", "cs"),
        ("Vaporul nu este în port, și farul este stins.", "ro"),
        ("A hajó nem állt meg, és az őr egy házban volt.", "hu"),
        ("Gemi bir ada için durdu ve çok uzak değil.", "tr"),
        ("Con tàu không dừng và ngọn đèn của làng đã tắt.", "vi"),
        ("Kapal itu tidak berhenti dan mercusuar di pulau itu padam.", "id"),
        ("Laiva ei pysähtynyt, mutta majakka oli saarella.", "fi"),
        ("Градът и народът стоят до морето.", "bg"),
        ("Подъезд и объект стоят у моря.", "ru"),
    ],
)
def test_detect(text: str, expected: str) -> None:
    assert detect(text) == expected


def test_a_long_text_is_told_by_all_its_parts() -> None:
    assert (
        detect("Licence text in English, and that is not the book. " * 200 + "灯塔亮了，船回来了。" * 4_000)
        == "zh"
    )


@pytest.mark.parametrize(
    ("text", "whole", "expected"),
    [
        ("1974 | 2003", "de", "de"),
        ("Seite 4", "de", "de"),
        ("The ferry left at eight, and the keeper of the light was not there.", "de", "en"),
        ("灯塔亮了，船回来了。", "en", "zh"),
        ("灯塔亮了，船回来了。", "ja", "zh"),
        ("会社概要", "ja", "ja"),
        ("会社概要", "zh", "zh"),
        ("会社概要", "en", "zh"),
        ("The ferry left at eight, and the keeper of the light was not there.", "zh", "en"),
        ("1974", "", "en"),
    ],
)
def test_a_part_has_its_own_language_where_it_shows_one(text: str, whole: str, expected: str) -> None:
    assert detect_part(text, whole) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("臺灣的經濟發展迅速，這個國家與世界各國貿易。", True),
        ("台湾的经济发展迅速，这个国家与世界各国贸易。", False),
        ("灯塔亮了，船回来了。他认识李國華先生。", False),
        ("船", False),
        ("The ferry left.", False),
    ],
)
def test_the_two_ways_of_writing_chinese(text: str, expected: bool) -> None:
    assert is_traditional(text) == expected


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_has_a_language(text: str) -> None:
    assert len(detect(text)) == 2
