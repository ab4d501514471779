"""What a list of types asks for beyond names proper: technical terms, dates, amounts.

"Protein" or "field" ask for words in lower case, which a list of persons, bodies and places does not; a year
is an entity only where some type can hold it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_TERMS = re.compile(
    r"concept|term|topic|field|method|technique|technolog|algorithm|task|metric|theor|model|disease|symptom"
    r"|drug|chemical|compound|element|protein|enzyme|gene|species|organism|animal|plant|food|material|substance"
    r"|discipline|science|genre|style|skill|tool|process|object|instrument|language|idea|principle|content|data"
    r"|概念|术语|主题|领域|方法|技术|算法|任务|指标|理论|模型|疾病|症状|药|化学|化合物|元素|蛋白|酶|基因|物种"
    r"|动物|植物|食品|材料|物质|学科|科学|流派|体裁|风格|技能|工具|过程|语言|内容|数据",
    re.IGNORECASE,
)
_DATES = re.compile(r"\b(?:dates?|times?|years?|periods?|eras?)\b|日期|时间|年份|年代|时期", re.IGNORECASE)
_NUMBERS = re.compile(
    r"\b(?:num(?:bers?)?|quantit\w+|amounts?|measure\w*|money|values?|percent\w*)\b|数字|数量|数值|金额|百分比",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Wanted:
    """What counts as an entity."""

    terms: bool = True
    """Whether terms in lower case do."""

    dates: bool = True
    """Whether dates and years do."""

    numbers: bool = False
    """Whether amounts and bare numbers do."""


def wanted(types: Iterable[str]) -> Wanted:
    """What types with these names can hold; without types terms and dates count, numbers do not."""
    names = [re.sub(r"[_\s]+", " ", name) for name in types]
    if not names:
        return Wanted()
    return Wanted(
        terms=any(map(_TERMS.search, names)),
        dates=any(map(_DATES.search, names)),
        numbers=any(map(_NUMBERS.search, names)),
    )
