"""Every nasty file of tests/corpus is read rightly or refused with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from localrag import documents
from localrag.errors import DocumentError
from tests.corpus import make

CASES = make.contents()


@pytest.mark.parametrize(
    "case", [case for case in CASES if not case.refused], ids=lambda case: ascii(case.name)
)
def test_a_nasty_file_is_read(case: make.Case, tmp_path: Path) -> None:
    path = tmp_path / case.name
    path.write_bytes(case.data)
    document = documents.read(path)
    for text in case.contains:
        assert text in document.text
    assert "\0" not in document.text
    assert "\r" not in document.text
    document.text.encode("utf-8")
    document.title.encode("utf-8")
    assert document.size == len(case.data)
    for heading in document.headings:
        assert heading.title
        assert "\n" not in heading.title
        assert document.text.startswith("\n", heading.offset - 1) or heading.offset == 0
    spans = documents.chunk(document.text, document.headings)
    assert bool(spans) == bool(document.text.strip())
    assert "".join(document.text.split()) == _joined(document.text, spans)
    assert all(span.tokens <= 400 for span in spans)


@pytest.mark.parametrize("case", [case for case in CASES if case.refused], ids=lambda case: ascii(case.name))
def test_a_file_that_is_no_text_is_refused_with_the_reason(case: make.Case, tmp_path: Path) -> None:
    path = tmp_path / case.name
    path.write_bytes(case.data)
    with pytest.raises(DocumentError) as refusal:
        documents.read(path)
    assert case.refused in refusal.value.message


def test_one_bad_file_does_not_stop_the_others(tmp_path: Path) -> None:
    written = make.write(tmp_path)
    found = documents.discover([tmp_path])
    assert {file.path for file in found.files} == set(written)
    assert found.skipped == ()
    outcomes = []
    for file in found.files:
        file.relative.encode("utf-8")
        try:
            documents.read(file.path)
            outcomes.append(True)
        except DocumentError:
            outcomes.append(False)
    assert outcomes.count(True) == sum(not case.refused for case in written.values())


def test_only_headings_outside_code_and_metadata_count(tmp_path: Path) -> None:
    written = make.write(tmp_path)
    titles = {
        path.name: [heading.title for heading in documents.read(path).headings]
        for path, case in written.items()
        if path.suffix == ".md" and not case.refused
    }
    assert titles["fence-never-closed.md"] == ["Real"]
    assert titles["heading-in-fence.md"] == ["Real heading"]
    assert titles["front-matter.md"] == ["Real heading"]
    assert titles["braces.md"] == ["{title}"]
    assert titles["rich-markup.md"] == ["[bold red]Alarm[/bold red]"]
    assert titles["mixed-line-ends.md"] == ["One"]


def _joined(text: str, spans: list[documents.ChunkSpan]) -> str:
    """The text of the chunks without what is repeated and without white space."""
    parts, done = [], 0
    for span in spans:
        parts.append(text[max(span.start, done) : span.end])
        done = span.end
    return "".join("".join(parts).split())
