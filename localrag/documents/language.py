"""The language of a text, told by its script, and by its function words where many languages share one.

It serves to choose prompts and to say in which language something is described, not to classify texts: in
Latin letters the languages of the list below are told apart, and whatever else is written in them counts as
English.
"""

from __future__ import annotations

import re
from collections import Counter

DEFAULT = "en"
"""What a text is taken for that shows no evidence, such as a list of numbers."""

SAMPLE = 20_000
"""Characters looked at; a longer text is sampled at its beginning, middle and end."""

_EVIDENCE = 40
"""Letters from which on a part of a text shows by itself that it is in English."""

_EVIDENCE_HAN = 30
"""Han characters without kana from which on a part of a text is Chinese whatever is around it: Japanese
writes headings and tables without kana, but no sentence."""

_HAN_WEIGHT = 3
"""Letters of an alphabet that say as much as one Han character."""

_JAPANESE_SHARE = 12
"""One of so many Han characters that only Japanese writes so makes a text without kana Japanese."""

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

# Forms that only Japan writes: neither the simplified nor the traditional ones of Chinese.
_JAPANESE = re.compile(
    "[円駅広売読気図働込畑峠辻県鉄応対庁発変戦経済関検験権実団沢桜黒歩毎楽薬焼帰択訳観覚労営厳単総続縄継]"
)

# Characters that are frequent and that the two ways of writing Chinese write differently, pair by pair.
_SIMPLIFIED = (
    "这国学会来时们个为发对说过还经济关电车东马门问间长书见贝风飞开无业务员历华语话请让认论设记许银钱铁际陈张"
)
_TRADITIONAL = (
    "這國學會來時們個為發對說過還經濟關電車東馬門問間長書見貝風飛開無業務員歷華語話請讓認論設記許銀錢鐵際陳張"
)
# Four of them are the Japanese forms too. The comma is Chinese alone.
_CHINESE = re.compile(f"[，{_SIMPLIFIED.translate(dict.fromkeys(map(ord, '国学会来')))}]")
_SIMPLE, _FULL = re.compile(f"[{_SIMPLIFIED}]"), re.compile(f"[{_TRADITIONAL}]")

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
    "sv": "och att det är som en på av för med den till inte om han jag ett från var hade efter",
    "da": "og at det er som en på af for med den til ikke om han jeg et fra var blev efter",
    "no": "og at det er som en på av for med den til ikke om han jeg et fra var ble etter",
    "fi": "ja ei että oli hän ovat kun mutta myös sekä jonka mukaan olla joka tämä",
    "pl": "się nie jest na że przez dla był była oraz przed jako są które od także jego",
    "cs": "je na že jako ale které byl byla pro však také není jsou podle při nebo",
    "ro": "și în cu nu este pe din care sunt pentru mai fost prin după acest",
    "hu": "és az hogy nem egy volt csak mint vagy még ezt azt de meg",
    "tr": "ve bir bu için ile olarak olan çok daha sonra kadar gibi ancak",
    "vi": "và của là có trong cho không được các một những với người này",
    "id": "yang dan di dari untuk dengan ini itu pada adalah tidak dalam akan oleh",
}
_WORDS = {language: frozenset(words.split()) for language, words in _FUNCTION_WORDS.items()}
_HAN_FUNCTION = re.compile("[的了和在是与與为為由及被将將]")
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
        return _eastern(sample, letters["kana"] / eastern)
    if letters[strongest] == 0:
        return DEFAULT
    if strongest == "latin":
        return _latin(sample, len(_HAN_FUNCTION.findall(sample)))
    if strongest == "cyrillic":
        return _cyrillic(sample)
    if strongest == "arabic":
        return "fa" if re.search("[پچژگ]", sample) else "ar"
    return _BY_SCRIPT[strongest]


def detect_part(text: str, of_whole: str) -> str:
    """The language of a part of a text that as a whole is in `of_whole`: its own, where it shows one.

    A table of numbers, or a heading that Chinese and Japanese write alike, has that of the whole.
    """
    found = detect(text)
    if found == DEFAULT and sum(1 for char in text if char.isalpha()) < _EVIDENCE:
        return of_whole or found
    if found == "zh" and of_whole == "ja":
        short = _count("han", text) < _EVIDENCE_HAN
        return of_whole if short and not _CHINESE.search(text) else found
    return found


def is_traditional(text: str) -> bool:
    """Whether a Chinese text is written in traditional characters rather than in simplified ones."""
    sample = _sample(text)
    return len(_FULL.findall(sample)) > len(_SIMPLE.findall(sample))


def _sample(text: str) -> str:
    if len(text) <= SAMPLE:
        return text
    part = SAMPLE // 3
    middle = len(text) // 2
    return "\n".join((text[:part], text[middle : middle + part], text[-part:]))


def _count(script: str, text: str) -> int:
    return sum(map(len, dict(_RUNS)[script].findall(text)))


def _eastern(sample: str, kana: float) -> str:
    """Chinese or Japanese, by the share of kana in what is written in Han characters and kana."""
    # Japanese can hardly write a clause without kana; Chinese quotes a Japanese name at most.
    if kana >= 0.1:
        return "ja"
    return "ja" if len(_JAPANESE.findall(sample)) * _JAPANESE_SHARE >= max(_count("han", sample), 1) else "zh"


def _cyrillic(sample: str) -> str:
    if re.search("[ыэёЫЭЁ]", sample):
        return "ru"
    if re.search("[іїєґІЇЄҐ]", sample) and not re.search("[ъЪ]", sample):
        return "uk"
    # Russian writes this sign before four vowels only; in Bulgarian it is a vowel itself.
    return "bg" if re.search("ъ(?![еёюя])", sample) else "ru"


def _latin(sample: str, chinese: int) -> str:
    """Tell languages in Latin letters apart by how many of their function words occur.

    A Chinese sentence may hold more letters of foreign names than characters of its own; it is told by
    having more function words, `chinese`, than any other language.
    """
    counts = Counter(_WORD.findall(sample.lower()))
    found = {language: sum(counts[word] for word in words) for language, words in _WORDS.items()}
    best = max(found, key=lambda language: found[language])
    if chinese > found[best]:
        return "zh"
    # A title or a name is no evidence: a foreign language must show two words, and more than English does.
    return best if found[best] >= 2 else DEFAULT
