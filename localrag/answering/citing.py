"""Makes of what the model writes what a person reads: marks behind the sentences that rest on a source, each
sentence checked when it is complete, and a list of references.

Text is shown at once but for the signs at the end of a sentence: marks stand before these. The model's own
marks are votes: they count where the source holds what is said. Nothing of this asks the model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from localrag.answering.checking import UNVERIFIED, Finding, SentenceCheck, check
from localrag.answering.marks import Mark, MarkReader, References
from localrag.answering.particulars import Particulars, particulars
from localrag.answering.support import Support
from localrag.documents import sentences
from localrag.retrieval.context import Source

_BLANKS = " \t\n\r\f\v\u00a0\u3000"
_SIGNS = _BLANKS + """.!?…。！？｡.,;:，；：、"'”’」』）)]】》*_~|"""
"""What marks are put before, where it ends a sentence."""

_WINDOW = 400
"""Characters back that are looked at."""

_STOP = re.compile(r"[.!?…。！？｡]")
_ENDING = re.compile(r"[.!?…。！？｡\n]")
_NUMBER_BEFORE = re.compile(r"\[\d{1,3}\Z")
_WORD = re.compile(r"\w")
_NO_STATEMENT = re.compile(r"\s*(?:#{1,6}\s|[|\s:–—*_+=-]*\Z)")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_WIDE = re.compile(r"[\u2e80-\ud7ff]")


class Citing:
    """One answer while it is written."""

    def __init__(
        self,
        sources: Sequence[Source],
        *,
        question: str,
        language: str,
        maximum: int,
        refusal: str = "",
        general: str = "",
    ) -> None:
        """`sources` are those of the prompt; at most `maximum` references are listed. `refusal` and `general`
        are the marks for these, brackets included."""
        self.references = References(sources, maximum)
        """The list of references."""
        self._refused = False
        self._has_sources = bool(sources)
        self._support = Support(question, sources)
        self._reader = MarkReader(refusal, general)
        self._general_mark = general
        self._unverified = UNVERIFIED["zh" if language == "zh" else "en"]
        self._checks: list[SentenceCheck] = []
        self._resting: dict[int, list[Particulars]] = {}
        self.asked = particulars(question)
        """What of the question can be compared."""
        self._whole = True
        self._began = False
        self._fenced = self._in_table = False
        self._begin("")

    @property
    def refused(self) -> bool:
        """Whether the model wrote the mark of a refusal, and nothing before it that rests on a source."""
        return self._refused and not self.references.labels

    @property
    def checks(self) -> tuple[SentenceCheck, ...]:
        """One for each sentence that says something, in order."""
        return tuple(self._checks)

    def statements(self, number: int) -> Sequence[Particulars]:
        """The statements that rest on a source, by its number in the prompt."""
        return self._resting.get(number, ())

    def feed(self, text: str) -> str:
        """Take the next piece of what the model writes; returns what can be shown."""
        return "".join(self._take(piece) for piece in self._reader.feed(text))

    def finish(self, listed: Sequence[int] = (), *, whole: bool = True) -> str:
        """The rest, at the end; `listed` are numbers that the model named behind the text.

        They count as marks of the last sentence if nothing else was cited. If that is not `whole`, since the
        text was cut off, it is not checked. Blanks at the end are dropped.
        """
        shown = "".join(self._take(piece) for piece in self._reader.finish())
        shown += self._cut()
        if not self.references.labels:
            self._votes.extend(listed)
        self._whole = whole
        return shown + self._close().rstrip()

    def _begin(self, text: str) -> None:
        """Begin a sentence, of which `text` is written already."""
        self._sentence = text
        self._shown = 0
        self._looked = 0
        """Up to where no end of the sentence was found."""
        self._part = 0
        """Where the part of the sentence begins that no mark stands behind."""
        self._marked = ""
        """The part before it, which marks stand behind."""
        self._votes: list[int] = []
        self._numbers: list[int] = []
        """Sources that the sentence rests on so far, those for which the list has no room included."""
        self._places: set[int] = set()
        self._general = False
        self._gap = ""
        """The blank that stands behind a mark, shown or not, if a word follows."""

    def _take(self, piece: str | Mark) -> str:
        if isinstance(piece, str):
            return "".join(self._add(char) for char in piece) + self._show()
        if piece.kind == "refusal":
            self._refused = True
            return ""
        shown = self._cut()
        if piece.kind == "general":
            self._general = True
        else:
            shown += self._voted(piece.numbers)
        self._leave_gap()
        return shown

    def _leave_gap(self) -> None:
        """Blanks before a mark go; one comes back if a word follows."""
        bare = self._sentence.rstrip(" \t")
        cut = max(len(bare), self._shown)
        spaced = cut < len(self._sentence) or not _WIDE.match(self._sentence[-1:])
        self._sentence = self._sentence[:cut]
        self._gap = " " if spaced and bare else ""

    def _add(self, char: str) -> str:
        """One more character: it may show that the sentence before it has ended."""
        if self._gap:
            # No bracket follows a mark at once, or both would be a link.
            self._sentence += self._gap if char.isalnum() or char in "([{" else ""
            self._gap = ""
        self._sentence += char
        return self._cut(char)

    def _cut(self, char: str = "") -> str:
        """Close a sentence behind which another one has begun: on a new line, or behind a stop once the first
        word is complete. Without `char` that word is all there is."""
        text = self._sentence
        broken = text.find("\n", len(text) - len(text.lstrip()))
        if broken >= 0 and text[broken:].strip():
            return self._close_at(len(text[:broken].rstrip()), char)
        if char and ((char.isalnum() and not _WIDE.match(char)) or not _may_end(text)):
            return ""
        base = max(len(text) - _WINDOW, 0)
        spans = sentences.split(text[base:])
        for (_, end), (following, _) in pairwise(spans):
            if base + end >= max(self._looked, self._shown) and _WORD.search(text, base + following):
                return self._close_at(base + end, char)
        if char:
            self._looked = _before_word(text, _before_signs(text, len(text)))
        return ""

    def _close_at(self, end: int, char: str) -> str:
        rest = self._sentence[end:]
        self._sentence = self._sentence[:end]
        shown = self._close()
        self._begin(rest)
        return shown + self._cut(char)

    def _show(self) -> str:
        """What of the open sentence can be shown: all but the signs at its end."""
        return self._up_to(max(_held(self._sentence), self._shown))

    def _to_signs(self) -> str:
        """All of the open sentence but the signs at its end: where marks are put."""
        return self._up_to(max(len(self._sentence.rstrip(_SIGNS)), self._shown))

    def _up_to(self, end: int) -> str:
        text = self._sentence[self._shown : end]
        self._shown = end
        if not self._began:
            text = text.lstrip()
        if not text:
            return ""
        self._began = True
        return text

    def _voted(self, numbers: Sequence[int]) -> str:
        """A mark of the model: behind a part of a sentence it is shown there, else it counts at the end."""
        part = self._sentence[self._part :]
        if self._numbers and not part.strip():
            # One more mark behind the same words.
            part = self._marked
        if not _WORD.search(part) or _STOP.search(part.rstrip()[-1:]) or self._is_no_statement():
            self._votes.extend(numbers)
            return ""
        found = particulars(part)
        good = [number for number in numbers if self._support.accepts(found, number)]
        self._votes.extend(number for number in numbers if number not in good)
        if not good:
            return ""
        shown = self._to_signs()
        marks = self._marks(good)
        if marks:
            self._part, self._marked = len(self._sentence), part
        return shown + marks

    def _marks(self, numbers: Sequence[int]) -> str:
        """The marks of sources, each place once in a sentence, with the blank before them."""
        new = []
        for number in numbers:
            place = self.references.cite(number)
            self._numbers.append(number)
            if place is not None and place not in self._places:
                self._places.add(place)
                new.append(f"[{place}]")
        return self._blank() + "".join(new) if new else ""

    def _blank(self) -> str:
        """A blank before a mark, where the script has blanks between words; none between marks."""
        if self._part and not _WORD.search(self._sentence[self._part :]):
            return ""
        return "" if _WIDE.match(self._sentence[max(self._shown - 1, 0) : self._shown]) else " "

    def _close(self) -> str:
        """The end of a sentence: what it rests on, what is wrong with it, and its last signs."""
        shown = self._to_signs()
        if not self._is_no_statement() and not self._refused:
            shown += self._judged()
        shown += self._up_to(len(self._sentence))
        self._note_line()
        return shown

    def _is_no_statement(self) -> bool:
        """Whether it is code, a heading, an introduction, or a table's first line."""
        text = self._sentence
        if self._fenced or _FENCE.match(text) or _NO_STATEMENT.match(text) or not _WORD.search(text):
            return True
        if text.rstrip(_BLANKS + "*_").endswith((":", "：")):
            return True
        return text.lstrip().startswith("|") and not self._in_table

    def _note_line(self) -> None:
        """Remember whether code or a table goes on behind this sentence."""
        if _FENCE.match(self._sentence):
            self._fenced = not self._fenced
        self._in_table = self._sentence.lstrip().startswith("|")

    def _judged(self) -> str:
        """The marks of a sentence that says something."""
        text = self._sentence.strip()
        if self._general:
            self._checks.append(SentenceCheck(text, (), "unchecked"))
            return f" {self._general_mark}"
        if not self._has_sources:
            return ""
        whole = particulars(text)
        rest = particulars(self._sentence[self._part :]) if self._part else whole
        says = rest or rest.words
        marks = self._marks(self._support.resting_on(rest if says else whole, self._votes))
        self._support.settle(self._numbers)
        for number in dict.fromkeys(self._numbers):
            self._resting.setdefault(number, []).append(whole)
        finding = self._finding(whole)
        found = SentenceCheck(text, tuple(sorted(self._places)), finding.verdict, finding.missing)
        self._checks.append(found)
        return f"{marks} {self._unverified}" if found.doubtful else marks

    def _finding(self, statement: Particulars) -> Finding:
        """What comes of holding the sentence against the sources that it rests on."""
        if not self._whole or not (self._numbers or statement.words):
            return Finding("unchecked")
        if not self._numbers:
            return Finding("not" if self._support.reads(statement) or statement.in_latin() else "unchecked")
        return check(statement, self._support.ground(self._numbers), self._support.asked_names)


def _held(text: str) -> int:
    """From where text is held back: signs at its end, and behind a stop the next word until it is complete,
    since that word tells whether the sentence has ended."""
    word = _before_word(text, len(text))
    signs = _before_signs(text, word)
    if _ENDING.search(text, signs, word):
        return signs
    return len(text.rstrip(_SIGNS)) if word == len(text) else len(text)


def _may_end(text: str) -> bool:
    """Whether a stop stands before the last complete word."""
    word = _before_word(text, _before_signs(text, len(text)))
    return _STOP.search(text, _before_signs(text, word), word) is not None


def _before_word(text: str, end: int) -> int:
    least = max(end - _WINDOW, 0)
    while end > least and text[end - 1].isalnum():
        end -= 1
    return end


def _before_signs(text: str, end: int) -> int:
    """Where the run of signs before `end` begins, numbers in brackets included."""
    least = max(end - _WINDOW, 0)
    while end > least and not text[end - 1].isalnum():
        end -= 1
        if text[end] == "]" and (mark := _NUMBER_BEFORE.search(text, max(end - 4, 0), end)):
            end = mark.start()
    return end
