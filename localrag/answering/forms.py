"""The forms that an answer can have: short names for what a prompt says of them."""

from __future__ import annotations

from localrag.sections import AnsweringSettings

SENTENCES = AnsweringSettings().response_type

_FORMS = {
    "short": ("the bare answer in a few words", "只写答案本身，几个词即可"),
    "sentences": (SENTENCES, "几句话"),
    "list": ("a bullet list, one point a line", "项目符号列表，每行一点"),
    "table": ("a Markdown table", "Markdown 表格"),
    "report": ("a detailed report with a heading for each part", "详细的报告，每个部分有标题"),
}

FORMS = tuple(_FORMS)
"""Names that `response_type` may have, besides words of one's own."""


def in_words(form: str, language: str) -> str:
    """What the prompt in `language` (`en` or `zh`) says of a form; other words than the names stay."""
    name = "sentences" if form == SENTENCES else form.strip().lower()
    if name not in _FORMS:
        return form
    english, chinese = _FORMS[name]
    return chinese if language == "zh" else english


def is_known(form: str) -> bool:
    """Whether it is one of the names, or the usual one, so that the prompt is no person's text."""
    return form == SENTENCES or form.strip().lower() in _FORMS


def is_long(form: str) -> bool:
    """Whether it needs a longer answer than others."""
    return form.strip().lower() == "report"
