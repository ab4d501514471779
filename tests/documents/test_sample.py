"""The sample library: twelve short texts, all read, in two languages, telling of one town."""

from __future__ import annotations

from localrag import documents
from localrag.sample import sample_folder


def test_twelve_texts_in_two_languages() -> None:
    found = documents.discover([sample_folder()])
    assert found.skipped == ()
    read = {file.relative: documents.read(file.path) for file in found.files}
    assert len(read) == 12
    languages = [document.language for document in read.values()]
    assert (languages.count("en"), languages.count("zh")) == (7, 5)
    for name, document in read.items():
        assert name.isascii()
        assert 600 <= len(document.text) <= 1_200, name
        assert document.text.endswith("\n")
        assert "\ufffd" not in document.text


def test_a_text_is_one_or_two_chunks() -> None:
    for file in documents.discover([sample_folder()]).files:
        document = documents.read(file.path)
        spans = documents.chunk(document.text, document.headings)
        assert 1 <= len(spans) <= 2, file.relative


def test_names_come_back_in_several_texts() -> None:
    texts = [documents.read(file.path).text for file in documents.discover([sample_folder()]).files]
    for name in (
        "Grey Gull Line",
        "Edda Thorne",
        "Sanderling",
        "Tomas Orrin",
        "Bram Colley",
        "沈雨岚",
        "灯笼",
        "埃达·索恩",
    ):
        assert sum(name in text for text in texts) >= 2, name
