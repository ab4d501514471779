"""Text to spans of sentences.

First the text falls into blocks: paragraphs, list items, headings, table rows, lines of code, turns of a
conversation. A single line break inside a paragraph is a blank. Then each paragraph falls into sentences,
in English and other Latin scripts by the stop and what stands around it, in Chinese by the stop alone.

Every character that is no white space lies in exactly one span, so a wrong cut loses nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from localrag.documents.clusters import JOINER, clings

_LINE = re.compile(
    r"""
      (?P<heading>[ ]{0,3}\#{1,6}[ \t])
    | (?P<fence>[ ]{0,3}(?:`{3,}+(?!.*`)|~{3,}))
    | (?P<row>[ \t]*\|)
    | (?P<rule>[ \t]*[-=*_~+\#]{3,}[ \t]*$)
    | (?P<item>[ \t]*(?:[-*+\u2022\u2023\u25e6\u00b7][ \t]|\d{1,3}[.)][ \t]|[A-Za-z]\)[ \t]
        |[（(][一二三四五六七八九十\d]{1,3}[）)]|[一二三四五六七八九十]{1,3}、))
    | (?P<stamp>\[?(?:\d{4}-\d{1,2}-\d{1,2}|\d{1,2}:\d{2})(?!\d)|\d{4}年\d)
    | (?P<indent>\u3000)
    | (?P<label>[^\W\d_a-z][\w.'-]{0,20}(?:[ ][\w.'-]{1,20}){0,2}(?:[:]\s|：))
    """,
    re.VERBOSE,
)
"""What the beginning of a line shows about it; each kind but `label` always begins a block."""

_WHOLE = frozenset(("heading", "row", "rule"))
"""Lines that are a block alone and are not cut into sentences."""

_LONGEST_CODE = 200
"""Characters up to which a line inside a fence is left whole."""

_HARD_ENDS = ("\f", "\u2029")
"""Line ends that part blocks as a blank line does."""

_STOP = re.compile(r"""([.!?…。！？｡．।॥؟۔]+)((?:["'”’」』）)\]】》〉］｣»*_]|\[\d{1,3}\])*)""")
_NOT_SPACE = re.compile(r"\S")
_NEXT_WORD = re.compile(r"""["'“‘«„(\[*_¿¡]{0,3}([^\W_]*)""")

_FINAL = frozenset("。！？｡।॥؟۔")
"""Signs that end a sentence whatever follows."""

_GOES_ON = frozenset("，、；：,;:")
"""Signs after which a sentence goes on even behind a stop."""

_SHORTEST_PAUSED = 8
"""Characters that a Chinese sentence must have before an ellipsis ends it; a stammer is shorter."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TITLES = _words(
    "dr mr mrs ms mx prof rev fr hon gen col lt maj sgt capt cmdr adm gov sen rep messrs mme mlle mt "
    "vs cf viz ca approx eds al hr nr bzw vgl sra srta"
)
"""Abbreviations that a name or the rest of the sentence follows."""

_NUMBERED = _words(
    "no nos fig figs vol vols p pp art sec sect ch chap eq ref app "
    "jan feb mar apr jun jul aug sep sept oct nov dec"
)
"""Abbreviations only if a number follows."""

_EITHER = _words("etc inc ltd co corp bros jr sr st ave rd dept univ est ed")
"""Abbreviations that may also end a sentence: they do if the next word is one that begins sentences."""

_NEVER_LAST = frozenset(("e.g", "i.e", "z.b", "d.h", "u.a", "p.ej"))
"""Dotted abbreviations that never end a sentence."""

_DOTTED = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}$")

_STARTERS = _words(
    "the a an this that these those it its he she they we you i his her their our my there here in on at by "
    "for from to with after before when while if as since but and so or yet then now however although though "
    "what who why how where not no one some many most all each every both"
)
"""Words that begin many sentences and are seldom part of a name."""

_MONTHS = _words("januar februar märz april mai juni juli august september oktober november dezember")
"""German writes the day of a date with a full stop before these."""


def split(text: str) -> list[tuple[int, int]]:
    """Return the spans of the sentences of `text`, in order and not overlapping.

    Neither end of a span is white space, and all else that is not white space lies in a span.
    """
    spans: list[tuple[int, int]] = []
    for start, end, whole in _blocks(text):
        if whole:
            spans.append((start, end))
        else:
            spans.extend(_sentences(text, start, end))
    return spans


def _blocks(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield (start, end, whole) of each block without white space around; `whole` ones are not cut."""
    fence = ""
    start, last, labelled = -1, -1, False  # the open block, where its last line ends, whether it has a label
    offset = 0
    for line in text.splitlines(keepends=True):
        begin, offset = offset, offset + len(line)
        body = line.strip()
        if not body:
            if start >= 0:
                yield start, last, False
                start = -1
            continue
        left = begin + len(line) - len(line.lstrip())
        right = left + len(body)
        match = _LINE.match(line)
        kind = match.lastgroup if match else None
        code = bool(fence) or kind == "fence"
        if code:
            fence = _fence_after(fence, body, kind == "fence")
        if code or kind in _WHOLE:
            if start >= 0:
                yield start, last, False
                start = -1
            # A line this long is no code: someone drew a line of tildes, or forgot to close the fence.
            yield left, right, len(body) <= _LONGEST_CODE or kind in _WHOLE
            continue
        if start >= 0 and kind and (kind != "label" or labelled):
            yield start, last, False
            start = -1
        if start < 0:
            start, labelled = left, kind == "label"
        last = right
        if line.endswith(_HARD_ENDS):
            yield start, last, False
            start = -1
    if start >= 0:
        yield start, last, False


def _fence_after(fence: str, body: str, is_mark: bool) -> str:
    """Return the mark that code is fenced by after a line, empty if the line closed it."""
    if not fence:
        return body[: len(body) - len(body.lstrip(body[0]))]
    closes = is_mark and body.startswith(fence) and not body.strip(fence[0])
    return "" if closes else fence


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut one paragraph, whose ends are not white space."""
    quotes, counted = 0, start  # straight quotation marks before `counted`: an odd number means one is open
    begin = start
    for match in _STOP.finditer(text, start, end):
        if match.start() < begin:
            continue
        quotes += text.count('"', counted, match.end(1))
        counted = match.end(1)
        close = match.end()
        if match[2] and quotes % 2 == 0 and (opening := match[2].find('"')) >= 0:
            close = match.end(1) + opening
        while close < end and (clings(text[close]) or text[close - 1] == JOINER):
            close += 1
        following = _NOT_SPACE.search(text, close, end)
        if following and _is_end(text, begin, match, close, following.start()):
            yield begin, close
            begin = following.start()
    if begin < end:
        yield begin, end


def _is_end(text: str, begin: int, match: re.Match[str], close: int, following: int) -> bool:
    """Whether the sentence that began at `begin` ends with this stop; `following` is what comes next."""
    stop = match[1]
    before = text[match.start() - 1] if match.start() > begin else ""
    after = text[following]
    adjacent = following == close
    if adjacent and after in _GOES_ON:
        return False
    if not _FINAL.isdisjoint(stop):
        return True
    if _is_wide(before) or (adjacent and _is_wide(after)):
        if stop[0] == "…":
            return not adjacent or close > match.end(1) or match.start() - begin >= _SHORTEST_PAUSED
        return not adjacent or _is_wide(after)
    if adjacent:
        return False
    word = _NEXT_WORD.match(text, following)
    first = word[1] if word else ""
    if first[:1].islower():
        return False
    return stop != "." or _is_full_stop(text, begin, match.start(), first)


def _is_full_stop(text: str, begin: int, stop: int, following: str) -> bool:
    """Whether a single dot after which no small letter follows ends a sentence, or marks an abbreviation."""
    first = stop
    while first > begin and stop - first < 24 and (text[first - 1].isalnum() or text[first - 1] in ".-"):
        first -= 1
    token = text[first:stop]
    folded = token.lower()
    starts = following.lower() in _STARTERS
    if token.isdigit():
        # The number of a list item, or of a day in German.
        return first > begin and following.lower() not in _MONTHS
    if len(token) == 1 and token.isupper():
        return starts
    if folded in _TITLES or folded in _NEVER_LAST:
        return False
    if folded in _NUMBERED:
        return not following[:1].isdigit()
    if folded in _EITHER or _DOTTED.match(token):
        return starts
    return True


def _is_wide(character: str) -> bool:
    """Whether a character is of a script that is written without blanks, such as Han or kana."""
    return "\u2e80" <= character <= "\ua4cf" or "\uac00" <= character <= "\ud7af" or character >= "\uf900"
