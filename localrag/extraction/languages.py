"""Languages of prompts and of what is written: a chunk's own, or the one that the settings name.

There are prompts in English and in Chinese. Descriptions may be in any language of the list; where it is not
Chinese the English prompts ask for it by name.
"""

from __future__ import annotations

from localrag.documents.language import is_traditional
from localrag.errors import SettingsError

AUTO = "auto"
"""The setting with which descriptions are in the text's own language."""

PROMPT_LANGUAGES = ("en", "zh")
"""Languages of the prompts."""

LANGUAGES = {
    "ar": "Arabic", "bg": "Bulgarian", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek",
    "en": "English", "es": "Spanish", "fa": "Persian", "fi": "Finnish", "fr": "French", "he": "Hebrew",
    "hi": "Hindi", "hu": "Hungarian", "id": "Indonesian", "it": "Italian", "ja": "Japanese", "ko": "Korean",
    "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian",
    "sv": "Swedish", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
    "zh-hant": "Traditional Chinese",
}  # fmt: skip
"""Every language that can be asked for, by its code, and what it is called in English."""

_LATIN = frozenset(
    "cs da de en es fi fr hu id it nl no pl pt ro sv tr vi".split()  # noqa: SIM905 - read more easily
)
_TRADITIONAL = "zh-hant"
_UNKNOWN = "the language of the text"
_CHINESE = {"zh": "中文", _TRADITIONAL: "繁體中文"}


def check_language(setting: str) -> None:
    """Raise `SettingsError` for a setting that is neither `auto` nor the code of a language of the list."""
    if setting != AUTO and setting not in LANGUAGES:
        raise SettingsError(
            f"extraction.language cannot be {setting!r}.", f"It is {AUTO} or one of {', '.join(LANGUAGES)}."
        )


def main_code(language: str) -> str:
    """The code of a language without its region or script: `zh` of `zh-Hant`."""
    return language.strip().lower().partition("-")[0]


def written_language(setting: str, language: str) -> str:
    """The code, without script, of the language in which something read in `language` is described."""
    return main_code(language if setting == AUTO else setting)


def prompt_language(setting: str, language: str) -> str:
    """The language of the prompts for a text in `language`: `zh` if descriptions are to be Chinese."""
    return "zh" if written_language(setting, language) == "zh" else "en"


def changes_script(setting: str, language: str) -> bool:
    """Whether descriptions are to be in Latin letters of a text that is not.

    Small models go on in the script that they have just read, whatever they are asked for.
    """
    return setting in _LATIN and main_code(language) not in _LATIN


def language_name(setting: str, language: str, text: str = "") -> str:
    """What the prompts call the language of descriptions, in the prompts' own language.

    Where descriptions are in the language of `text`, traditional Chinese is described in traditional Chinese.
    """
    code = written_language(setting, language)
    if code == "zh":
        full = is_traditional(text) if setting == AUTO else setting == _TRADITIONAL
        return _CHINESE[_TRADITIONAL if full else "zh"]
    return LANGUAGES.get(code, _UNKNOWN)
