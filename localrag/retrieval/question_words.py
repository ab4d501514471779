"""Finds keywords in a question without a model: names, things, and the phrases that say what it is about.

Names are those that the knowledge base knows and those that have the form of one. Things are the nouns that
are left. Phrases are what stands together between words that say nothing. A greeting has none of these.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from localrag.extraction.candidates import find_candidates
from localrag.extraction.han_words import Unit, units
from localrag.extraction.lexicon import english_words
from localrag.extraction.tokens import runs, tokenise
from localrag.extraction.words import FUNCTION_WORDS
from localrag.graph.names import fold
from localrag.retrieval.types import Keywords
from localrag.store.function_words import ENGLISH

MOST = 8
"""Most keywords of a level."""

LOOKED_AT = 2_000
"""Characters of a question that are looked at."""

_WORDS_OF_A_PHRASE = 5


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NO_THEME = ENGLISH | _words(
    "who's what's please tell say show find know mean means called name named there here much many often "
    "long far ever yet still also happen happened happens kind sort type way thing things need needs"
)
_GREETINGS = _words(
    "hello hi hey howdy greetings thanks thank you thx ok okay yes no bye goodbye cheers good morning "
    "afternoon evening night day test testing there everyone all lol haha hmm um well so how are"
)
_GREETINGS_IN_HAN = re.compile(
    "(?:你好|您好|大家好|哈喽|嗨|嘿|喂|早上好|早安|上午好|下午好|晚上好|晚安|谢谢|多谢|感谢|謝謝|再见|再見|拜拜|"
    "好的|好吧|好|嗯|哦|是的|在吗|在嗎|测试|你|呀|啊|吗|嗎|了|哈|呵|～|~)+"
)
_HAN_CONTENT = frozenset("nvajlibzwhost?F")
_HAN_THINGS = frozenset("njzwhos?F")
_HAN_EMPTY = _words(
    "是 有 没有 没 会 能 可以 要 请 请问 告诉 介绍 说 做 让 使 被 把 什么 怎么 如何 哪些 哪个 哪里 谁 多少 "
    "几 为什么 问题 时候 关于 知道 想 列出 给 到 来 去 叫 发生 需要 一下 之间"
)
_HUMMED = re.compile(r"[^aeiouy\d]{5,}|^[^aeiouy\d]+$")
_LETTERS = re.compile(r"[^\W\d_]")


def by_words(question: str, known: Sequence[str] = ()) -> Keywords:
    """The keywords of a question; `known` are names of entities that it holds, best first.

    Both lists are empty where there is nothing to search for, as in a greeting or in letters without sense.
    """
    text = question[:LOOKED_AT]
    if not known and is_small_talk(text):
        return Keywords(by="words")
    formed = [item for item in find_candidates(text) if item.strong]
    places = [(item.start, item.end) for item in formed]
    places += [(found, found + len(name)) for name in known if (found := text.find(name)) >= 0]
    phrases: list[str] = []
    things: list[str] = []
    for phrase, words, nouns in _phrases(_without(text, places)):
        # A verb alone, such as “built”, is no theme.
        phrases += [phrase] if words > 1 or nouns else []
        things += nouns
    low = _first_spellings([*known, *(item.text for item in formed), *things])[:MOST]
    high = _first_spellings(phrases)[:MOST]
    return Keywords(tuple(high), tuple(low), "words") if high or low else _bare(text)


def is_small_talk(question: str) -> bool:
    """Whether a question is a greeting, thanks, or letters without sense, which no text could answer."""
    bare = re.sub(r"[\s\W_]+", " ", question.casefold()).strip()
    if not bare:
        return True
    if _GREETINGS_IN_HAN.fullmatch(bare.replace(" ", "")):
        return True
    words = bare.split()
    if len(words) <= 6 and all(word in _GREETINGS for word in words):
        return True
    return all(_is_noise(word) for word in words) and _LETTERS.search(bare) is not None


def _is_noise(word: str) -> bool:
    """Whether a word is hit on the keyboard rather than written; abbreviations are short."""
    if not word.isascii() or not word.isalpha() or len(word) < 6 or word in english_words():
        return False
    return _HUMMED.search(word) is not None


def _without(text: str, places: Sequence[tuple[int, int]]) -> str:
    """The text with something in place of names that no phrase goes over."""
    for start, end in places:
        text = text[:start] + ";" * (end - start) + text[end:]
    return text


def _bare(text: str) -> Keywords:
    """All that says something, where there is neither name nor noun."""
    every = _first_spellings(phrase for phrase, _, _ in _phrases(text))[:MOST]
    return Keywords(tuple(every), (), "words")


def _phrases(text: str) -> Iterator[tuple[str, int, list[str]]]:
    """What stands together, each with how many words it has and the nouns in it."""
    for run in runs(tokenise(text)):
        sequence = units(text, run)
        for part in _between(sequence):
            nouns = [unit.text for unit in part if _is_thing(unit)]
            yield text[part[0].start : part[-1].end], len(part), nouns


def _between(sequence: Sequence[Unit]) -> Iterator[list[Unit]]:
    """The stretches of words that say something."""
    part: list[Unit] = []
    for unit in sequence:
        if _says_something(unit) and len(part) < _WORDS_OF_A_PHRASE:
            part.append(unit)
            continue
        if part:
            yield part
        part = [unit] if _says_something(unit) else []
    if part:
        yield part


def _says_something(unit: Unit) -> bool:
    if unit.kind in ("brk", "dot"):
        return False
    if unit.kind.startswith("L"):
        word = unit.text.casefold()
        joins = word in FUNCTION_WORDS and english_words().get(word, "X")[0] in "ORX"
        return not (joins or word in _NO_THEME or len(word) == 1)
    return unit.kind[0] in _HAN_CONTENT and unit.text not in _HAN_EMPTY


def _is_thing(unit: Unit) -> bool:
    """Whether a word names a thing: a noun, or a word that the tables do not know."""
    if unit.kind.startswith("L"):
        word = unit.text.casefold()
        kind = english_words().get(word, "X")[0]
        return kind in "NX" and word not in FUNCTION_WORDS
    return unit.kind[0] in _HAN_THINGS and len(unit.text) > 1


def _first_spellings(texts: Collection[str] | Iterator[str]) -> list[str]:
    """The texts without those that are only spelt otherwise than one before."""
    found: dict[str, str] = {}
    for text in texts:
        if key := fold(text):
            found.setdefault(key, text)
    return list(found.values())
