"""One file to a document, or to the reason why not."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from localrag.documents import reading
from localrag.documents.reading import Heading, markdown_headings, read
from localrag.errors import DocumentError


def test_a_text_file(tmp_path: Path) -> None:
    path = tmp_path / "harbour notes.txt"
    path.write_bytes(b"The first line is no title.\r\n# nor this\r\n")
    os.utime(path, (1_000_000, 1_000_000))
    document = read(path)
    assert document.text == "The first line is no title.\n# nor this\n"
    assert document.media_type == "text/plain"
    assert document.title == "harbour notes"
    assert document.language == "en"
    assert document.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert document.size == path.stat().st_size
    assert document.mtime == 1_000_000
    assert document.headings == ()


def test_a_markdown_file_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "x.markdown"
    path.write_text("前言。\n\n# 灯塔 **指南** #\n\n## 一\n", encoding="utf-8")
    document = read(path)
    assert document.text == "前言。\n\n# 灯塔 **指南** #\n\n## 一\n"
    assert document.media_type == "text/markdown"
    assert document.title == "灯塔 **指南**"
    assert document.language == "zh"
    assert document.headings == (Heading(5, 1, "灯塔 **指南**"), Heading(20, 2, "一"))


@pytest.mark.parametrize("name", ["a.TXT", "a.Md", "a.text", "a.md ", "a.pdf.txt"])
def test_suffixes_in_any_case(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("x", encoding="utf-8")
    assert read(tmp_path / name).text == "x"


@pytest.mark.parametrize("data", [b"", b" \n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_a_document_with_nothing_in_it(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "empty.md").write_bytes(data)
    document = read(tmp_path / "empty.md")
    assert document.text.strip() == ""
    assert document.title == "empty"
    assert document.headings == ()
    assert document.size == len(data)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a.pdf", ".pdf is not a format that localrag reads yet."),
        ("a.docx", ".docx is not"),
        ("README", "A file without a suffix is not"),
        (".txt", "A file without a suffix is not"),
        ("a.[bold]", "Its suffix is not"),
        ("a.x\x1b[31m", "Its suffix is not"),
        ("a." + "x" * 100, "Its suffix is not"),
    ],
)
def test_other_formats_are_refused_by_name(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / name).write_text("text", encoding="utf-8")
    with pytest.raises(DocumentError) as refusal:
        read(tmp_path / name)
    assert refusal.value.message.startswith(said)
    assert ".txt" in refusal.value.hint


def test_a_file_that_is_gone_a_folder_and_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "folder.txt").mkdir()
    os.mkfifo(tmp_path / "pipe.txt")
    for name, said in (("gone.txt", "gone"), ("folder.txt", "folder"), ("pipe.txt", "ordinary file")):
        with pytest.raises(DocumentError, match=said):
            read(tmp_path / name)


def test_a_name_that_no_system_takes(tmp_path: Path) -> None:
    for name in ("nul\0.txt", "n" * 5_000 + ".txt"):
        with pytest.raises(DocumentError, match="cannot be opened"):
            read(tmp_path / name)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PermissionError(13, "Permission denied"), "no permission"),
        (OSError(5, "Input/output error"), "Input/output error"),
    ],
)
def test_a_file_that_the_system_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, said: str
) -> None:
    (tmp_path / "a.txt").touch()

    def refuse(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(reading, "open", refuse, raising=False)
    with pytest.raises(DocumentError, match=said):
        read(tmp_path / "a.txt")


def test_too_large_a_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    with open(path, "wb") as file:
        file.truncate(reading.SIZE_LIMIT + 1)
    with pytest.raises(DocumentError, match=r"64\.0 MB, and at most 64 MB"):
        read(path)


def test_the_limit_itself_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "SIZE_LIMIT", 10)
    (tmp_path / "a.txt").write_bytes(b"x" * 10)
    assert read(tmp_path / "a.txt").size == 10
    (tmp_path / "a.txt").write_bytes(b"x" * 11)
    with pytest.raises(DocumentError, match="too large"):
        read(tmp_path / "a.txt")


def test_a_title_is_one_line_of_bearable_length(tmp_path: Path) -> None:
    path = tmp_path / "two\nlines.txt"
    path.write_text("x", encoding="utf-8")
    assert read(path).title == "two lines"
    (tmp_path / "long.md").write_text("# " + "long " * 500, encoding="utf-8")
    assert len(read(tmp_path / "long.md").title) <= reading.TITLE_LIMIT


def titles(text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in markdown_headings(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A\n## B ##\n### C #\n   # D\n", [(1, "A"), (2, "B"), (3, "C"), (1, "D")]),
        ("#no\n    # no\n####### no\n\\# no\n> # no\n- # no\n", []),
        ("#\n## \n### ###\n# #x\n# a#\n#\ttab", [(1, "#x"), (1, "a#"), (1, "tab")]),
        ("One\n===\nTwo\n---\n", [(1, "One"), (2, "Two")]),
        ("two\nlines\n---\n\n---\n- item\n---\n| a |\n---\n\n===\n", []),
        ("para\n    goes on\n---\n", []),
        ("```\n# no\n```\n# A\n~~~~\n# no\n~~~\n# no\n~~~~\n# B", [(1, "A"), (1, "B")]),
        ("```x```\n# A", [(1, "A")]),
        ("---\n# no\n---\n# A", [(1, "A")]),
        ("---\n# A\nno end", [(1, "A")]),
        ("", []),
    ],
)
def test_headings(text: str, expected: list[tuple[int, str]]) -> None:
    assert titles(text) == expected
    for heading in markdown_headings(text):
        assert heading.title in text[heading.offset :].split("\n")[0]


@pytest.mark.parametrize(
    "line", ["# " + " " * 100_000 + "x", "#" * 100_000, "- " * 50_000 + "x", "`" * 100_000]
)
def test_hostile_lines_are_quick(line: str) -> None:
    assert len(titles(line + "\n# end")) >= 0
