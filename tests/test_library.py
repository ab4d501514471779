"""The library desk: documents as they are opened to be read, their files, their failed passages."""

from __future__ import annotations

from pathlib import Path

import pytest

from localrag.errors import KnowledgeBaseReadOnly, UsageError
from localrag.kb import KnowledgeBase
from tests.tui.support import engines


def test_a_document_is_opened_with_its_passages_places_and_tags(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("a.md", "copy.md"):
        (tmp_path / "in" / name).write_text("# Bridge\n\nAda Lund repaired the bridge.\n")
    with KnowledgeBase.create(tmp_path / "a.localrag", engines=engines()) as kb:
        kb.add([tmp_path / "in"])
        (row,) = kb.library.documents()
        assert kb.tags.add("Ships", [row.document.id]).documents == ("a.md",)
        opening = kb.library.open(row.document.id)
        assert opening.text == kb.document_text(row.document.id)
        assert [Path(place.full).name for place in opening.places] == ["a.md", "copy.md"]
        assert opening.tags == ("Ships",)
        (passage,) = opening.passages
        assert "Ada Lund" in opening.text[passage.start : passage.end]
        assert kb.library.passages(row.document.id) == [passage]
        assert kb.library.findings(passage.id) == []
        assert kb.library.file(row.document.id) == tmp_path / "in" / "a.md"
        (tmp_path / "in" / "a.md").unlink()
        assert kb.library.file(row.document.id) == tmp_path / "in" / "copy.md"
        (tmp_path / "in" / "copy.md").unlink()
        assert kb.library.file(row.document.id) is None
        with pytest.raises(UsageError):
            kb.library.open(99)
        with pytest.raises(UsageError):
            kb.tags.remove("Ships", [99])
        assert kb.library.read_again([passage.id]) == 0
        assert kb.tags.remove("ships", [row.document.id]).documents == ("a.md",)
    (tmp_path / "a.localrag").chmod(0o400)
    with (
        KnowledgeBase.open(tmp_path / "a.localrag", engines=engines(), read_only=True) as kb,
        pytest.raises(KnowledgeBaseReadOnly),
    ):
        kb.library.read_again([passage.id])
