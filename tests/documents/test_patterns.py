"""Patterns and ignore files leave out what they say, as git itself understands them, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localrag.documents.discovery import discover
from localrag.documents.ignoring import IgnoreLine, parse
from localrag.documents.patterns import LARGEST, Patterns, Rules
from localrag.errors import UsageError
from tests.examples import examples


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def taken(folder: Path, patterns: Patterns | None = None) -> list[str]:
    rules = Rules(folder, patterns or Patterns())
    return [file.relative for file in discover([folder], {folder: rules}).files]


def test_a_persons_patterns(tmp_path: Path) -> None:
    write(tmp_path, {name: "x" for name in ("a.md", "b.txt", "drafts/c.md", "deep/drafts/d.md", "deep/e.md")})
    assert taken(tmp_path, Patterns(include=("*.md",))) == [
        "a.md",
        "deep/e.md",
        "deep/drafts/d.md",
        "drafts/c.md",
    ]
    assert taken(tmp_path, Patterns(exclude=("drafts/**",))) == [
        "a.md",
        "b.txt",
        "deep/e.md",
        "deep/drafts/d.md",
    ]
    assert taken(tmp_path, Patterns(exclude=("drafts/",))) == ["a.md", "b.txt", "deep/e.md"]
    assert taken(tmp_path, Patterns(include=("*.md",), exclude=("a.md", "/deep/e.md", "drafts"))) == []
    assert taken(tmp_path, Patterns(exclude=("*.md", "!a.md"))) == ["a.md", "b.txt"]


def test_reasons_name_what_left_it_out(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "a.md\n", ".localragignore": "b.md\n", "a.md": "", "b.md": "", "c.md": ""})
    write(tmp_path, {"d.txt": "", "e.md": ""})
    rules = Rules(tmp_path, Patterns(include=("*.md",), exclude=("c.*",)))
    found = discover([tmp_path], {tmp_path: rules})
    assert [file.relative for file in found.files] == ["e.md"]
    assert {entry.path.name: entry.reason for entry in found.skipped if entry.reason != "hidden"} == {
        "a.md": "left out by .gitignore",
        "b.md": "left out by .localragignore",
        "c.md": "left out by a pattern",
        "d.txt": "not among the patterns that are taken",
    }
    assert taken(tmp_path, Patterns(gitignore=False)) == ["a.md", "c.md", "d.txt", "e.md"]


def test_nested_files_and_negation(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            ".gitignore": "*.txt\n/only-top.md\nbuilt/\n",
            "a.txt": "",
            "only-top.md": "",
            "sub/.gitignore": "!keep.txt\nsecret*\n",
            "sub/keep.txt": "",
            "sub/other.txt": "",
            "sub/only-top.md": "",
            "sub/secret.md": "",
            "built/x.md": "",
            "built/.gitignore": "!x.md\n",
        },
    )
    assert taken(tmp_path) == ["sub/keep.txt", "sub/only-top.md"]
    # The own file stands above git's, at whatever depth.
    write(tmp_path, {".localragignore": "!a.txt\nsub/only-top.md\n"})
    assert taken(tmp_path) == ["a.txt", "sub/keep.txt"]


def test_a_folder_inside_a_repository_minds_the_files_above(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "*.log.md\nbuild/\n/docs/old.md\n", "docs/a.md": "", "docs/old.md": ""})
    write(tmp_path, {"docs/x.log.md": "", "build/notes/n.md": "", "docs/.gitignore": "!x.log.md\n"})
    assert taken(tmp_path / "docs") == ["a.md", "old.md", "x.log.md"]  # no repository
    (tmp_path / ".git").mkdir()
    assert taken(tmp_path / "docs") == ["a.md", "x.log.md"]
    # Named by a person although git leaves the whole of it out.
    assert taken(tmp_path / "build/notes") == ["n.md"]
    # Nothing above the repository counts.
    write(tmp_path.parent, {".gitignore": "*\n"})
    assert taken(tmp_path / "docs") == ["a.md", "x.log.md"]


@pytest.mark.parametrize("pattern", ["", "  ", "a\0b", "a\nb", "a" * 1001, "!", "# note", "[a", "a\\"])
def test_a_pattern_that_cannot_be_used_is_refused(pattern: str) -> None:
    for include, exclude in (((pattern,), ()), ((), (pattern,))):
        with pytest.raises(UsageError, match="pattern") as error:
            Patterns(include, exclude)
        assert error.value.hint


def test_a_hostile_ignore_file_takes_no_time_and_says_what_is_not_used(tmp_path: Path) -> None:
    write(tmp_path, {"a" * 200 + ".md": "", "b.md": "", ".gitignore": "b.md\n" + "*a" * 400 + "b\n!\n[a\n"})
    begin = time.monotonic()
    rules = Rules(tmp_path, Patterns())
    found = discover([tmp_path], {tmp_path: rules})
    assert time.monotonic() - begin < 20
    assert [file.relative for file in found.files] == ["a" * 200 + ".md"]
    assert ["line 3" in rules.notes[0], "line 4" in rules.notes[1]] == [True, True]


def test_ignore_files_that_are_none(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "", "b/.localragignore": "*\n" + "#" * LARGEST, "b/c.md": ""})
    (tmp_path / ".gitignore").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / ".localragignore")
    rules = Rules(tmp_path, Patterns())
    assert [file.relative for file in discover([tmp_path], {tmp_path: rules}).files] == ["a.md"]
    assert len(rules.notes) == 1
    assert "too large" in rules.notes[0]
    (tmp_path / "b/.localragignore").write_bytes(b"\xef\xbb\xbfc.md\r\n\xff\n")
    assert taken(tmp_path) == ["a.md"]


NAMES = ("a", "b", "a.md", "b.md", "x y.txt", "[c]", "d.d")
PARTS = st.sampled_from(
    (
        "a",
        "b",
        "*",
        "*.md",
        "?.md",
        "**",
        "[ab]",
        "[!a]*",
        "x y.txt",
        "\\[c\\]",
        "d.*",
        "[c-a]",
        "[]c]",
        "[^b]",
        "[[:alpha:]]*",
        "a**",
        "x\\ y.txt",
        "[a",
    )
)
LINES = st.builds(
    lambda negated, anchored, parts, folder: (
        f"{'!' * negated}{'/' * anchored}{'/'.join(parts)}{'/' * folder}"
    ),
    st.booleans(),
    st.booleans(),
    st.lists(PARTS, min_size=1, max_size=3),
    st.booleans(),
)
FILES = st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3), min_size=1, max_size=8)
IGNORES = st.dictionaries(st.sampled_from(("", "a", "b", "a/b")), st.lists(LINES, max_size=4), max_size=3)


@pytest.mark.skipif(shutil.which("git") is None, reason="not here: git to compare with")
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(FILES, IGNORES)
def test_git_leaves_out_the_same_files(files: list[list[str]], ignores: dict[str, list[str]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for parts in files:
            path = folder.joinpath(*parts)
            if not any(parent.is_file() for parent in path.parents) and not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
        for place, lines in ignores.items():
            if (folder / place).is_dir():
                (folder / place / ".gitignore").write_text("\n".join(lines), encoding="utf-8")
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        for command in (("init", "-q"), ("ls-files", "-z", "--others", "--exclude-standard")):
            done = subprocess.run(
                ["git", *command], cwd=folder, env=environment, capture_output=True, text=True, check=True
            )
        wanted = {path for path in done.stdout.split("\0") if path and not path.endswith(".gitignore")}
        assert set(taken(folder)) == wanted


def test_a_long_hostile_pattern_is_matched_at_once() -> None:
    line = parse("*a" * 400 + "b")
    assert isinstance(line, IgnoreLine)
    begin = time.monotonic()
    assert not line.matches(["a" * 255], folder=False)
    assert time.monotonic() - begin < 20


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("\\!a", "!a"),
        ("\\#a", "#a"),
        ("a\\ ", "a "),
        ("a  ", "a"),
        ("[!]x]", "y"),
        ("é?", "éé"),
        ("[а-я]", "ж"),
    ],
)
def test_signs_with_a_backslash_and_other_scripts(pattern: str, name: str) -> None:
    line = parse(pattern)
    assert isinstance(line, IgnoreLine)
    assert line.matches([name], folder=False)
