"""Foreign names in Chinese come out whole."""

import pytest

from localrag.extraction.candidates import find_candidates
from localrag.extraction.foreign_names import joined_names


def _names(text: str) -> list[str]:
    return [text[start:end] for start, end in joined_names(text)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("灯塔看守人埃达-索恩写信给安娜·博尔格。", ["埃达-索恩", "安娜·博尔格"]),
        ("总理英格丽-马丁和大卫-霍华德见面", ["英格丽-马丁", "大卫-霍华德"]),
        ("画家约翰-沃尔夫冈-冯-伯恩住在海边", ["约翰-沃尔夫冈-冯-伯恩"]),
        ("由奥托-卡尔松二世建造", ["奥托-卡尔松二世"]),
        ("安娜-甘地和她的儿子马丁-甘地", ["安娜-甘地", "马丁-甘地"]),
        ("约翰·F·马丁", ["约翰·F·马丁"]),
    ],
)
def test_whole_names(text: str, names: list[str]) -> None:
    assert _names(text) == names


@pytest.mark.parametrize("text", ["规则-管理", "北京-上海高铁", "甲·乙", "A-B", "", "三-四年级学生"])
def test_what_is_no_name(text: str) -> None:
    assert _names(text) == []


def test_names_by_their_form_are_likely() -> None:
    text = "由于巴黎安托万-贝克勒尔和北海渔业联盟（NSF）出版了《灯塔上的人》，"
    found = {item.text: item.chance for item in find_candidates(text)}
    assert min(found[name] for name in ("安托万-贝克勒尔", "NSF", "灯塔上的人")) >= 0.8
