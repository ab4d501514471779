"""Where a string may be cut without parting a letter from its accent or an emoji from its colour."""

from __future__ import annotations

import unicodedata

JOINER = "\u200d"
"""Zero-width joiner: what stands on both sides of it is one sign."""

REACH = 32
"""Longest run of marks that is kept with its letter; whoever stacks more of them gets them cut."""


def clings(character: str) -> bool:
    """Whether a character belongs to the one before it: a mark, a joiner, a skin tone, half a surrogate."""
    if character <= "\u02ff":
        return False
    return (
        character == JOINER
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\udc00" <= character <= "\udfff"
        or unicodedata.category(character)[0] == "M"
    )


def cut_before(text: str, offset: int, floor: int) -> int:
    """Return the last offset up to `offset` that cuts no cluster, or `offset` if there is none near.

    `floor` is an offset that the result stays above.
    """
    cut = offset
    while cut > floor and offset - cut <= REACH:
        if not parts_cluster(text, cut):
            return cut
        cut -= 1
    return offset


def parts_cluster(text: str, offset: int) -> bool:
    """Whether a cut at `offset`, which is above 0, parts what belongs together."""
    return offset < len(text) and (
        clings(text[offset]) or text[offset - 1] == JOINER or _is_second_of_flag(text, offset)
    )


def _is_second_of_flag(text: str, offset: int) -> bool:
    """Whether the regional letter at `offset` is the second of two that make a flag."""
    run = 0
    while run <= REACH and offset - run >= 0 and "\U0001f1e6" <= text[offset - run] <= "\U0001f1ff":
        run += 1
    return run > 0 and run % 2 == 0
