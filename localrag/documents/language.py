"""The language of a text, told by its script and, among those in Latin letters, by its function words.

It serves to choose prompts and to say in which language a chunk was read, not to classify texts: seven
languages are told apart in Latin letters, and whatever else is written in them counts as English.
"""

from __future__ import annotations

import re
from collections import Counter

DEFAULT = "en"
"""What a text is taken for that shows no evidence, such as a list of numbers."""

SAMPLE = 20_000
"""Characters looked at; a longer text is sampled at its beginning, middle and end."""

_HAN_WEIGHT = 3
"""Letters of an alphabet that say as much as one Han character."""

_SCRIPTS = (
    ("kana", "\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f"),
    ("han", "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"),
    ("hangul", "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"),
    ("latin", "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff"),
    ("cyrillic", "\u0400-\u052f"),
    ("arabic", "\u0600-\u06ff\u0750-\u077f"),
    ("hebrew", "\u0590-\u05ff"),
    ("greek", "\u0370-\u03ff\u1f00-\u1fff"),
    ("thai", "\u0e01-\u0e5b"),
    ("devanagari", "\u0900-\u097f"),
)
_RUNS = [(script, re.compile(f"[{ranges}]+")) for script, ranges in _SCRIPTS]

_BY_SCRIPT = {"hangul": "ko", "hebrew": "he", "greek": "el", "thai": "th", "devanagari": "hi"}

# Short words that are frequent in one language and absent from, or rare in, the others here. English leads,
# so that it wins where nothing tells two apart.
_FUNCTION_WORDS = {
    "en": "the of and to that is was for with as by at from this are which he she it they we have "
    "had were be not",
    "de": "der die das und ist nicht ein eine zu den mit von dem auf für sich des im auch als wird "
    "bei oder wie war",
    "fr": "le la les des est et dans une du pour que qui pas sur au par ce cette il elle avec sont "
    "ne aux nous vous",
    "es": "el la los las del y en un una que es con por para se no al su como más fue está pero lo sus este",
    "it": "il di che è la per un una non del della con sono gli le nel alla dei si anche più "
    "come ha delle questo",
    "pt": "o os as que do da em um uma não com para dos das no na se por mais ao como foi são pelo ou sua",
    "nl": "de het een van en is dat niet op te zijn voor met die aan er maar ook om naar bij "
    "wordt deze door werd",
}
_WORDS = {language: frozenset(words.split()) for language, words in _FUNCTION_WORDS.items()}
_WORD = re.compile(r"[^\W\d_]+")


def detect(text: str) -> str:
    """Return the two-letter code of the language that most of `text` is in; "en" where nothing tells."""
    sample = _sample(text)
    letters = {script: sum(map(len, runs.findall(sample))) for script, runs in _RUNS}
    letters["han"] *= _HAN_WEIGHT
    letters["kana"] *= _HAN_WEIGHT
    letters["hangul"] *= _HAN_WEIGHT
    eastern = letters["han"] + letters["kana"]
    others = [script for script in letters if script not in ("han", "kana")]
    strongest = max(others, key=lambda script: letters[script])
    if eastern > letters[strongest]:
        # Japanese can hardly write a clause without kana; Chinese quotes a Japanese name at most.
        return "ja" if letters["kana"] >= 0.1 * eastern else "zh"
    if letters[strongest] == 0:
        return DEFAULT
    if strongest == "latin":
        return _latin(sample)
    if strongest == "cyrillic":
        return "uk" if re.search("[іїєґІЇЄҐ]", sample) and not re.search("[ыэъёЫЭЪЁ]", sample) else "ru"
    if strongest == "arabic":
        return "fa" if re.search("[پچژگ]", sample) else "ar"
    return _BY_SCRIPT[strongest]


def _sample(text: str) -> str:
    if len(text) <= SAMPLE:
        return text
    part = SAMPLE // 3
    middle = len(text) // 2
    return "\n".join((text[:part], text[middle : middle + part], text[-part:]))


def _latin(sample: str) -> str:
    """Tell languages in Latin letters apart by how many of their function words occur."""
    counts = Counter(_WORD.findall(sample.lower()))
    found = {language: sum(counts[word] for word in words) for language, words in _WORDS.items()}
    best = max(found, key=lambda language: found[language])
    # A title or a name is no evidence: a foreign language must show two words, and more than English does.
    return best if found[best] >= 2 else DEFAULT
