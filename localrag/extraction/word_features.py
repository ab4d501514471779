"""What tells a name from other words in text with blanks: its form, its words, what stands beside it.

A feature is a short string; `chances` adds up the weights of those that a candidate shows. Features say what
shape a place has, never which word stands there, but for function words.
"""

from __future__ import annotations

import re
from functools import lru_cache

from localrag.extraction.lexicon import english_words
from localrag.extraction.tokens import Token
from localrag.extraction.word_spans import Span
from localrag.extraction.words import (
    DEMONYMS,
    FUNCTION_WORDS,
    HEADS,
    INSIDE_NAMES,
    MONTHS,
    PERSON_TITLES,
    SUFFIXES,
    TELLING,
    WEEKDAYS,
)

_MONTH = re.compile(rf"(?:{MONTHS})\.?$")
_NUMBER = re.compile(r"\d[\d.,]*$")
_INITIAL = re.compile(r"[A-Z]\.$")
_POSSESSIVE = ("'s", "’s")

_JOINTS = frozenset(["of", "and", "&", "in", "for", "on", "at", "'s", "the", ","])
_OPEN_JOINTS = frozenset(["of", "and", "&", "'s", "in", "for"])
_LISTED = (frozenset([",", "and", "or"]), frozenset([",", "and", ";", "or"]))
_MAX_SHAPE = 6
_REMEMBERED = 8192


class Words:
    """The tokens of a text with their classes and shapes, worked out once."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.classes = [_class(token.text, token.kind) for token in tokens]
        self.content = [t.kind == "word" and t.text.lower() not in FUNCTION_WORDS for t in tokens]
        self.capital = [
            is_content and not token.text.islower() and any(map(str.isupper, token.text))
            for token, is_content in zip(tokens, self.content, strict=True)
        ]
        self.is_word = [token.kind == "word" for token in tokens]
        self.inside = [_inside(token) for token in tokens]
        self.shapes = [_shape(token.text, token.kind) for token in tokens]

    def class_at(self, place: int) -> str:
        """The class of a token; a sign for the text's beginning or end."""
        return "^" if place < 0 else self.classes[place] if place < len(self.classes) else "$"

    def shape_at(self, place: int) -> str:
        """The shape of a token; a sign for the text's beginning or end."""
        return "^" if place < 0 else self.shapes[place] if place < len(self.shapes) else "$"


def features(words: Words, first: int, end: int, span: Span, name: str, times: int) -> list[str]:
    """The features of the tokens from `first` up to `end`; `times` is how often the name occurs.

    The first feature is the group: d for names by a pattern, c for capitalised, m for mixed, n for beginning
    with a digit, f for words in lower case.
    """
    if span.kind in ("date", "amount", "quoted"):
        return _marked(words, first, end, span, name)
    capitals = sum(words.capital[first:end])
    group = _group(words, first, end, capitals, sum(words.content[first:end]))
    count = sum(words.is_word[first:end])
    found = _around(words, first, end, group, count, name, times)
    if group in "cm":
        _shapes(words, first, end, group, found)
    if group == "c":
        _capitalised(words, first, end, span, count, found)
    else:
        _plain(words, first, end, span, group, count, capitals, found)
    return found


def _group(words: Words, first: int, end: int, capitals: int, content: int) -> str:
    starts_with_digit = words.tokens[first].text[0].isdigit()
    if not capitals:
        return "n" if starts_with_digit else "f"
    both_ends = words.classes[first] == "Cap" and words.classes[end - 1] == "Cap"
    return "c" if capitals == content or both_ends or starts_with_digit else "m"


def _marked(words: Words, first: int, end: int, span: Span, name: str) -> list[str]:
    """Features of dates, amounts and quotations."""
    if span.kind == "quoted":
        form = "q"
    elif span.kind == "amount":
        form = "$" if re.search(r"[$€£¥%]", name) else "#" if name[0].isdigit() else "w"
    elif re.fullmatch(r"\d{4}s?", name):
        form = "y"
    elif any(_MONTH.match(token.text) for token in words.tokens[first:end]):
        form = "m"
    else:
        form = "c" if "century" in name else "t"
    group = f"d{form}"
    inside = [token for token in words.tokens[first:end] if token.kind == "word"]
    found = [group, f"{group} n{min(len(inside), 5)}"]
    found += [f"{group} p={words.class_at(first - 1)}", f"{group} x={words.class_at(end)}"]
    if form in "#w":
        found += [f"d# l={words.class_at(end - 1)} {len(inside)}", f"d# x={words.class_at(end)}"]
    if form == "q":
        content = [token.text for token in inside if token.text.lower() not in FUNCTION_WORDS]
        capitals = sum(any(map(str.isupper, text)) for text in content)
        found.append(f"dq caps{2 if capitals == len(content) else min(capitals, 1)}")
    return found


def _around(words: Words, first: int, end: int, group: str, count: int, name: str, times: int) -> list[str]:
    """Features of any run of words: its length, its neighbours, what joins its words."""
    tokens = words.tokens
    before, behind = words.class_at(first - 1), words.class_at(end)
    found = [group, f"{group} n{min(count, 6)}", f"{group} p={before}", f"{group} x={behind}"]
    found.append(f"{group} rep{min(times, 3)}")
    if before == "(" and behind == ")":
        found.append(f"{group} paren")
    if before in _LISTED[0] and behind in _LISTED[1]:
        found.append(f"{group} list")
    if "-" in name:
        found.append(f"{group} hyph")
    if behind == "(" and end + 1 < len(tokens):
        short = tokens[end + 1].text
        if short.isupper() and short[:1] == tokens[first].text[:1].upper():
            found.append(f"{group} abbr")
    found += [
        f"{group} in={words.inside[place]}" for place in range(first + 1, end - 1) if words.inside[place]
    ]
    if tokens[first].opens:
        found.append(f"{group} opens")
    return found


def _shapes(words: Words, first: int, end: int, group: str, found: list[str]) -> None:
    """Features of the shapes of a name's words, of its joints, and of the words beside it."""
    shapes = words.shapes[first:end]
    before, behind = words.shape_at(first - 1), words.shape_at(end)
    if len(shapes) <= _MAX_SHAPE:
        found.append(f"{group} S={'_'.join(shapes)}")
    if len(shapes) > 1:
        found.append(f"{group} S09={shapes[0]}{shapes[-1]}")
        found += [f"{group} S0={'_'.join(shapes[:2])}", f"{group} S9={'_'.join(shapes[-2:])}"]
    found += [f"{group} SP={before}>{shapes[0]}", f"{group} SX={shapes[-1]}>{behind}"]
    found.append(f"{group} SPX={before}|{behind}")
    found.append(f"{group} X2={behind}{words.shape_at(end + 1)}")
    found.append(f"{group} P2={words.class_at(first - 2)}.{before}")
    for place in range(1, len(shapes) - 1):
        shape, left = shapes[place], shapes[place - 1]
        if shape in _JOINTS:
            found += [f"{group} {left}-{shape}-{shapes[place + 1]}", f"{group} {left}-{shape}"]
            found.append(f"{group} {shapes[0]}.{shape}")
        elif shape in "TD":
            found.append(f"{group} in{shape}")
    if "of" in shapes and "and" in shapes:
        found.append(f"{group} of+and")
    # What a joint beside the candidate ties it to says whether the name goes on there.
    if before in _OPEN_JOINTS and first > 1:
        found.append(f"{group} {words.shapes[first - 2]}-{before}<")
    if behind in _OPEN_JOINTS and end + 1 < len(words.tokens):
        after = words.shapes[end + 1]
        found += [f"{group} >{behind}-{after}", f"{group} {shapes[-1]}>{behind}-{after}"]
        found.append(f"{group} {shapes[0]}..>{behind}")


def _capitalised(words: Words, first: int, end: int, span: Span, count: int, found: list[str]) -> None:
    """Features of names whose words all have capitals."""
    start, last = words.tokens[first].text, words.tokens[end - 1].text
    known = english_words()
    start_class, last_class = known.get(start.lower(), "?"), known.get(last.lower(), "?")
    score = 11 if span.score >= 10.5 else int(span.score)
    found += [f"c s{score}", f"c s{score} n{'1' if count == 1 else '+'}"]
    found.append(f"c fl={'?' if start_class == '?' else 'k'}{'?' if last_class == '?' else 'k'}")
    if count == 1:
        found += [f"c1 {_form(last)}", f"c1 {start_class}", f"c1 len{min(len(last), 6)}"]
        if words.tokens[first].opens:
            found.append(f"c opens1 {start_class}")
    if last.endswith("."):
        found.append("c dotend")
    if start.endswith("."):
        found.append("c dotbeg")
    if start[0].isdigit():
        found.append("c digbeg")
    if last[-1].isdigit():
        found.append("c digend")
    if start.lower() in ("the", "a", "an"):
        found.append("c the")


def _form(text: str) -> str:
    if text.isupper() and len(text) > 1:
        return "allcaps"
    if any(map(str.isdigit, text)):
        return "code"
    if sum(map(str.isupper, text)) > 1:
        return "camel"
    return "demo" if text.endswith(("ian", "ish", "ese", "ean")) else "word"


def _plain(
    words: Words, first: int, end: int, span: Span, group: str, count: int, capitals: int, found: list[str]
) -> None:
    """Features of runs that hold words in lower case: the classes of these, and how rare they are."""
    classes = words.classes[first:end]
    last = words.tokens[end - 1].text.lower()
    suffix = _suffix(last)
    found += [f"{group} l={classes[-1]}", f"{group} f={classes[0]}", f"{group} suf={suffix}"]
    if count == 1:
        found += [f"{group}1 l={classes[-1]}", f"{group}1 suf={suffix}"]
    else:
        found.append(f"{group}+ {classes[0][0]}{classes[-1][0]}")
    if last.endswith("s") and not last.endswith(("ss", "us", "is", "ics")):
        found.append(f"{group} plural")
    ranks = [int(item[1]) or 5 for item in classes if len(item) == 2 and item[1].isdigit()]
    if ranks:
        low, high = min(ranks), max(ranks)
        found.append(f"{group}{'1' if count == 1 else '+'} mm{low}{high}")
    if any(item[0] in "VR" and len(item) == 2 for item in classes[1:-1]):
        found.append(f"{group} innerV")
    before, behind = words.class_at(first - 1), words.class_at(end)
    if len(before) == 2 and before[0] in "NJG":
        found.append(f"{group} left-open")
    if len(behind) == 2 and behind[0] in "NG":
        found.append(f"{group} right-open")
    if group == "m":
        ends = "".join("C" if item == "Cap" else "c" for item in (classes[0], classes[-1]))
        found += [f"m {ends}", f"m ncap{min(capitals, 3)}"]
        if span.score >= 9:
            found.append("m s9")
    found.append(f"{group} gs={max(-3, min(5, round(span.score)))}")


def _inside(token: Token) -> str:
    """What the token says inside a name: which joining word it is, or that it is a break."""
    lower = token.text.lower()
    return lower.replace("’", "'") if lower in INSIDE_NAMES else "|" if token.kind == "break" else ""


@lru_cache(maxsize=_REMEMBERED)
def _suffix(word: str) -> str:
    return next((end for end in SUFFIXES if word.endswith(end) and len(word) > len(end) + 2), "-")


@lru_cache(maxsize=_REMEMBERED)
def _class(text: str, kind: str) -> str:
    """A token's class: a telling word itself, "Cap", "num", or the class of a word in lower case."""
    if kind != "word":
        return "han" if kind == "han" else text[:1]
    lower = text.lower().replace("’", "'")
    known = english_words()
    if lower in FUNCTION_WORDS or lower in ("'s", "&"):
        return lower if lower in TELLING or lower == "'s" else f"{known.get(lower, 'O1')[0].lower()}fn"
    if text[:1].isupper():
        return "Cap"
    if _NUMBER.match(text):
        return "num"
    return known.get(lower) or _guessed(lower)


def _guessed(word: str) -> str:
    """The class of a word that the table does not hold."""
    known = english_words()
    if word.endswith("s") and not word.endswith("ss"):
        for stem in (word[:-1], word[:-2], f"{word[:-3]}y"):
            found = known.get(stem)
            if found and found[0] in "NX":
                return found
    if "-" in word:
        return "hy"
    return "R4" if word.endswith("ly") else "D4" if word.endswith("ed") else "N0"


@lru_cache(maxsize=_REMEMBERED)
def _shape(text: str, kind: str) -> str:
    """A token's shape: what kind of word with a capital it is, or what joins such words."""
    if kind != "word":
        return text[:1]
    lower = text.lower()
    if lower in _POSSESSIVE:
        return "'s"
    if text.isdigit():
        return "4" if len(text) == 4 else "9"
    if lower in INSIDE_NAMES or (lower in FUNCTION_WORDS and text.islower()):
        return lower if lower in _JOINTS else "fn"
    if _INITIAL.match(text):
        return "i"
    if not any(map(str.isupper, text)):
        return "o" if text[0].isdigit() else "l"
    return _capital_shape(text, lower)


def _capital_shape(text: str, lower: str) -> str:
    if lower in PERSON_TITLES:
        return "T"
    if lower in WEEKDAYS:
        return "W"
    if lower in DEMONYMS or lower.endswith(("ian", "ese")):
        return "D"
    if lower in HEADS:
        return "R"
    if _MONTH.match(text):
        return "M"
    if any(map(str.isdigit, text)):
        return "C"
    if text.isupper() and len(text) > 1:
        return "A"
    known = english_words()
    kind = known.get(lower) or (known.get(lower[:-1]) if lower.endswith("s") else None)
    if not kind:
        return "u"
    return "k" if kind[0] in "NGX" else "j" if kind[0] == "J" else "v"
