"""Text → what the full-text tables hold; question → the terms that are looked for in them.

Two tables share the work, and both are made from folded text (see folding.py):

* *words*: everything that any FTS5 splits rightly by itself. Runs of Han, Kana and Hangul, and of scripts
  without blanks whose words we cannot cut, such as Thai, are written as overlapping bigrams, and the run's
  last character once more alone, so that a single character is found as the beginning of a term, wherever
  it stands. A code with signs in it, such as `C++` or `1.0.21`, is written a second time as one term (its
  signs moved to the private-use area, which FTS5 takes for letters).
* *codes*: the pieces whose parts must be found too, by trigrams: codes such as `ORA-01555` or `getUserName`,
  and Thai and its kin once more, since their bigrams are too common to tell much.

The index side must not change without raising `TERMS_VERSION`: a row is removed from a contentless FTS5
table by giving the same terms again.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from localrag.store.folding import BLANKLESS, CJK, LETTER, WORD, folded, plain_form
from localrag.store.folding import fold as fold
from localrag.store.function_words import ALL as FUNCTION_WORDS

TERMS_VERSION = 2
"""Raised with every change of `words_of` or `codes_of`; the store then makes its full-text rows anew."""

MAX_TERMS = 64
"""Most terms of one question in each table; the first ones are kept."""

LONGEST = 100
"""Characters of a term that LIKE looks for; it refuses very long patterns."""

_RUN = re.compile(f"[{CJK}]+")
_BLANKLESS_RUN = re.compile(f"[{BLANKLESS}]+")
_BIGRAMS_RUN = re.compile(f"[{CJK}]+|[{BLANKLESS}]+")
_PIECE = re.compile(f"[^\\s{CJK}{BLANKLESS}]+")
_PART = re.compile(r"[^-/\\:;,@=&|]+")
_CAMEL = re.compile(r"[^\W\d_A-Z]*[A-Z]+(?![^\W\d_A-Z])|[A-Z]?[^\W\d_A-Z]+|\d+")
_CAMEL_HUMP = re.compile(r"[^\W\d_A-Z][A-Z]|[A-Z]{2}[a-z]{2}")
_WRAPPING = "\"'`´‘’“”„‚«»‹›()[]{}<>*_~|=,;:!?¡¿…·•、。，；：！？「」『』《》〈〉【】（）"
_HYPHENATED = re.compile(f"{LETTER}+(?:['’‐‑–—-]+{LETTER}+)*")
_RAISED = re.compile("[¹²³⁰-⁹ªº™℠]")
_MARKED = re.compile(f"([^\\W_]+?){_RAISED.pattern}")
_PRIVATE = 0xE000


@dataclass(frozen=True)
class Terms:
    """What a question looks for. Every list is without doubles and in the question's order."""

    words: tuple[str, ...]
    """FTS5 expressions for the table of words, each quoted."""

    codes: tuple[str, ...]
    """FTS5 expressions for the table of codes, each quoted."""

    signs: tuple[str, ...]
    """What neither table can hold, such as `→`; for a search with LIKE."""

    @property
    def plain(self) -> tuple[str, ...]:
        """The terms as they may stand in a text, for a search with LIKE where FTS5 cannot be read."""
        found = (term.rstrip("*").strip('"')[:LONGEST] for term in self.words + self.codes)
        return tuple(dict.fromkeys(term for term in (*found, *self.signs) if not _private(term)))


def words_of(text: str) -> str:
    """What the table of words holds for a text."""
    before_marks = _before_marks(text)
    text = plain_form(text)
    # Cut here as questions are cut, since FTS5 does not take the same characters for letters everywhere.
    words = WORD.findall(_BIGRAMS_RUN.sub(_index_run, folded(text)))
    for code in _codes(text):
        words.extend(_humps(code))
        if _has_sign(code):
            words.extend(_as_term(fold(part)) for part in _with_signs(code))
    return " ".join((*words, *before_marks))


def codes_of(text: str) -> str:
    """What the table of codes holds for a text: its codes and blankless runs, parted by blanks."""
    text = plain_form(text)
    return " ".join((*map(fold, _codes(text)), *_BLANKLESS_RUN.findall(folded(text))))


def terms_of(question: str) -> Terms:
    """The terms of a question, whatever it holds. Function words are left out unless nothing else remains."""
    text = plain_form(question)
    flat = folded(text)
    codes = _codes(text)
    # A single letter or digit of `C++` or `F#` says nothing beside the code itself.
    inside = {
        part for code in codes if _has_sign(code) for part in WORD.findall(fold(code)) if len(part) == 1
    }
    words = dict.fromkeys(_as_prefix(fold(code)) for code in codes if _has_sign(code))
    common: dict[str, None] = {}
    for match in _spans(flat):
        for term in _question_terms(match):
            bare = term.strip('"*')
            if bare not in inside:
                (common if bare in FUNCTION_WORDS else words)[term] = None
    for code in codes:
        words.update(dict.fromkeys(_quote(hump) for hump in _humps(code)))
    grams = dict.fromkeys(_code_terms(flat, codes))
    signs: dict[str, None] = {}
    if not words and not common and not grams:
        # A variation selector asks for a look, not for another sign.
        pieces = (piece.rstrip("\ufe0e\ufe0f")[:LONGEST] for piece in question.split())
        signs = dict.fromkeys(piece for piece in pieces if piece)
    return Terms(
        words=tuple(words or ({} if grams else common))[:MAX_TERMS],
        codes=tuple(grams)[:MAX_TERMS],
        signs=tuple(signs)[:MAX_TERMS],
    )


def any_of(terms: Iterable[str]) -> str:
    """An FTS5 query that matches rows with any of the terms."""
    return " OR ".join(terms)


def _before_marks(text: str) -> list[str]:
    """Words before footnote marks and the like, which NFKC glues to them."""
    if text.isascii() or not _RAISED.search(text):
        return []
    return [fold(word) for word in _MARKED.findall(unicodedata.normalize("NFC", text))]


def _index_run(match: re.Match[str]) -> str:
    run = match.group()
    return " " + " ".join([*(run[i : i + 2] for i in range(len(run) - 1)), run[-1]]) + " "


def _spans(flat: str) -> list[str]:
    """Words and whole runs of characters that are written as bigrams, in order."""
    return WORD.findall(_BIGRAMS_RUN.sub(lambda match: f" {match.group()} ", flat))


def _question_terms(span: str) -> list[str]:
    if not _BIGRAMS_RUN.fullmatch(span):
        return [_quote(span)]
    if len(span) == 1:
        return [_quote(span) + "*"]
    if len(span) > 2 and _BLANKLESS_RUN.fullmatch(span):
        return []  # its trigrams say more
    return [_quote(span[i : i + 2]) for i in range(len(span) - 1)]


def _codes(text: str) -> list[str]:
    """Pieces of NFKC text, case kept, that are more than words: with signs, digits and letters, or humps."""
    found: list[str] = []
    for piece in _PIECE.findall(text):
        if piece.islower() and piece.rstrip(".,").isalpha():
            # Most words of most texts; looking closer would take half of the time of storing them.
            continue
        code = _unwrapped(piece)
        if len(code) > 1 and not _HYPHENATED.fullmatch(code) and not code.isdecimal():
            if any(char.isalnum() for char in code):
                found.append(code)
        elif _CAMEL_HUMP.search(code):
            found.append(code)
    return found


def _unwrapped(piece: str) -> str:
    code = piece.strip(_WRAPPING).rstrip(".")
    if code.startswith(".") and not code[1:2].isalpha():
        code = code.lstrip(".")
    return code.strip(_WRAPPING)


def _has_sign(code: str) -> bool:
    return not all(char.isalnum() or unicodedata.category(char).startswith("M") for char in code)


def _with_signs(code: str) -> list[str]:
    """The code, and its parts that are codes with signs themselves: `Visual-C#` holds `C#`."""
    parts = _PART.findall(code)
    inner = [part for part in parts if len(part) > 1 and _has_sign(part)] if len(parts) > 1 else []
    return [code, *inner]


def _humps(code: str) -> list[str]:
    """The words of a code in camel case and each two neighbours as one, folded; nothing for other codes."""
    parts = [fold(part) for part in _CAMEL.findall(code)] if _CAMEL_HUMP.search(code) else []
    pairs = ["".join(pair) for pair in pairwise(parts)]
    return [part for part in (*parts, *pairs) if len(part) > 1]


def _as_term(folded_code: str) -> str:
    """A code as one term: its signs become private-use characters, which FTS5 counts as letters."""
    return "".join(char if char.isalnum() else chr(_PRIVATE + ord(char) % 0x1900) for char in folded_code)


def _as_prefix(folded_code: str) -> str:
    return _quote(_as_term(folded_code)) + "*"


def _code_terms(flat: str, codes: list[str]) -> list[str]:
    """Trigram queries: codes and numbers as they are, blankless runs in overlapping pieces of three."""
    terms = [_quote(fold(code)) for code in codes if len(fold(code)) >= 3]
    terms += [_quote(word) for word in _spans(flat) if len(word) >= 3 and any(c.isdecimal() for c in word)]
    for run in _BLANKLESS_RUN.findall(flat):
        terms += [_quote(run[i : i + 3]) for i in range(len(run) - 2)]
    return terms


def _quote(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'


def _private(term: str) -> bool:
    return any(_PRIVATE <= ord(char) <= 0xF8FF for char in term)
