"""Which chat template a model gets: its own, a person's file, or a plain one that is built in.

A model without a template was not taught to answer. It is refused unless a template is named, because the
templates that other programs guess make it write nonsense.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from localrag.engine.gguf import GgufInfo
from localrag.errors import ModelInvalid, SettingsError

BUILT_IN: Final[Mapping[str, str]] = {
    "plain": (
        "{{ bos_token }}"
        "{% for message in messages %}"
        "{% if message.role == 'user' %}Question: {% elif message.role == 'assistant' %}Answer: {% endif %}"
        "{{ message.content }}\n\n"
        "{% endfor %}"
        "{% if add_generation_prompt %}Answer:{% endif %}"
    ),
    "chatml": (
        "{% for message in messages %}"
        "<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
        "{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    ),
}
"""Templates by name: `plain` is text that any model can go on with, `chatml` has the marks of many models."""

_LARGEST: Final = 1_000_000


@dataclass(frozen=True)
class TemplateChoice:
    """A chat template and where it came from."""

    source: str
    """The template, in Jinja's dialect."""

    note: str = ""
    """What a person should know of it; empty for the model's own."""


def choose_template(info: GgufInfo, wanted: str) -> TemplateChoice:
    """The template of a model; `wanted` is empty, a name of `BUILT_IN`, or a file.

    Raises `ModelInvalid` if the model has none and none is wanted, `SettingsError` if the wanted one cannot
    be read.
    """
    name = info.path.name
    if not wanted:
        if info.chat_template:
            return TemplateChoice(info.chat_template)
        raise ModelInvalid(
            f"{name} has no chat template: it is a base model.",
            "Choose an instruct or chat variant, or name a template in models.chat_template: plain, chatml, "
            "or a file.",
        )
    source = BUILT_IN[wanted] if wanted in BUILT_IN else _file(Path(wanted).expanduser())
    if info.chat_template:
        return TemplateChoice(source, f"{name} gets the template {wanted} instead of its own.")
    return TemplateChoice(
        source,
        f"{name} has no chat template and gets {wanted}; it was not taught to answer, so expect little.",
    )


def _file(path: Path) -> str:
    hint = f"Give a file in Jinja's dialect, or one of: {', '.join(BUILT_IN)}."
    try:
        if path.stat().st_size > _LARGEST:
            raise SettingsError(f"models.chat_template: {path} is too large to be a template.", hint)
        source = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise SettingsError(f"models.chat_template: {path} cannot be read: {reason}.", hint) from error
    if not source.strip():
        raise SettingsError(f"models.chat_template: {path} is empty.", hint)
    return source
