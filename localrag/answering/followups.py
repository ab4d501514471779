"""Tells whether a question needs what was said before, without a model: pronouns, ellipsis, "and in 1912?".

A question that stands alone is not rewritten, which saves a call and cannot spoil it. English and Chinese
questions are told apart by their script; in other languages only the signs that need no grammar count.
"""

from __future__ import annotations

import re

from localrag.store.function_words import ENGLISH

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_WORD = re.compile(r"\w+(?:['’]\w+)*")

_OPENING = re.compile(
    r"(?:and|but|or|also|then|so|what about|how about|what of|(?:who|what|where|anything|anyone|nothing) else"
    r"|any others?|why not|how so|how come|tell me more|more (?:about|on|of)|go on|continue|explain"
    r"|elaborate|which (?:one|ones)(?! of))\b",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"\b(?:he|him|his|himself|she|her|hers|herself|it|its|itself|they|them|their|theirs|themselves)\b",
    re.IGNORECASE,
)
_OBJECT = frozenset({"him", "them", "it", "her"})
_EMPTY_IT = re.compile(
    r"\bit (?:take|takes|took|cost|costs|feel|like|mean|true|false|possible|likely|necessary|important|clear"
    r"|known|said|called) (?:to|that|if|for)\b"
    r"|\bit (?:is|was) (?:true|possible|said|known|believed|called|\w+ed that)\b"
    r"|\b(?:what|who|where|when|why|how) (?:is|was) it that\b",
    re.IGNORECASE,
)
_POINTING = re.compile(
    r"\b(?:this|these|those)\b(?! (?:year|month|week|century|day|morning|evening|decade|time)s?\b)"
    r"|(?:^|\b(?:is|was|were|are|did|does|do|will|can|would|has|had|of|about|for|in|on|at|by|with|from|after"
    r"|before|like|why|when|how|than) )that(?= *[?.!,]| *$| (?:is|was|were|did|does|happen|happened|mean"
    r"|means|time|year|day|place|person|man|woman|one|case|true|right|correct|possible|why|how|when)\b)"
    r"|\bthe (?:same|latter|former)(?= *[?.!,]| *$| (?:one|ones|year|day|time|place|person)\b)"
    r"|\bthe (?:other|first|second|third|last|next) ones?\b",
    re.IGNORECASE,
)
_THERE = re.compile(r"(?<!is )(?<!are )(?<!was )(?<!were )(?<!be )(?<!been )\b(?:there|then) *[?.!]*$", re.I)
_CLAUSE = re.compile(
    r"[,;:]|\b(?:and|or|but|when|while|after|before|because|since|that|who|whom|whose|which|where|if|as"
    r"|although|though|until|once|what|how|why|for|with|by|in|on|of|from|whether|than)\b",
    re.IGNORECASE,
)
_FIRST_CLAUSE = re.compile(
    r"(?:when|while|after|before|although|though|as|in|during|at|on|with|by|because|since|despite)\b[^,]*,",
    re.IGNORECASE,
)
_PHRASE = re.compile(
    r"\b(?:the|a|an|which|what|each|every|any|some|no|whose|most|all|many|other|\d+) (?!is\b|was\b|are\b"
    r"|were\b|did\b|does\b|do\b|has\b|had\b|will\b|can\b)[a-z][\w-]+",
    re.IGNORECASE,
)
_DEFINITE = re.compile(r"\b(?:the|that|this|these|those|such) (?=((?:[a-z][\w-]* ){0,2}[a-z][\w-]*))")
_MEASURES = frozenset(
    {
        *("exactly", "year", "month", "day", "date", "place", "time", "people", "person", "many", "much"),
        *("long", "far", "old", "else", "so", "more", "too", "again", "precisely", "reason", "way", "kind"),
        *("sort", "number", "since", "until", "during"),
    }
)

_HAN_PRONOUN = re.compile(
    r"(?P<own>(?<![其吉])[他她它](?!人)们?[的之]|(?<![尤极極])其(?![他她它中实實余餘次间間])|此(?=[时時处處]))"
    r"|(?<![其吉])[他她它](?!人)[们們]?|[这這](?![样樣]的?(?:一|人))|(?:^|(?<=[，,、在是于和与对从到把被由给]))那"
    r"|(?<!应)(?<!應)[该該](?=[\u4e00-\u9fff])|(?<![因如从從彼由])此(?![外类類时時处處])|前者|后者|後者|两者|上述|刚才"
)
_HAN_OPENING = re.compile(
    r"(?:那么|那(?!年)|还有(?!多少|什么|几|哪)|然后|接着|以及|而且|可是|但是|所以|再说|继续|另一个|另外"
    r"|详细(?:说|讲)|具体(?:说|讲))"
)
_HAN_ASKS = re.compile(r"谁|什么|哪|几|多少|怎|为何|如何|何时|何地|多久|多大|多高|是否|吗")
_HAN_FILLERS = re.compile(
    r"请问|为什么|什么|时候|哪里|哪儿|哪年|哪天|哪个|哪些|哪|谁|多少|多久|多大|怎么样|怎么|怎样|何时|何地|如何|是否"
    r"|具体|原因|地方|一共|当时|后来|之后|之前|[是在到从为因的了呢吗啊吧过几年月日天号钱和跟由被把给就也都又还再，。？！?!,.\s\d]"
)
_HAN_JOINTS = re.compile(r"[，,；;、]|和|与|及|把|将|跟|后|时|前|因为|由于|对|给")


def is_follow_up(question: str, said: str) -> bool:
    """Whether a question needs what was said before it, `said`, to be understood.

    False where nothing was said.
    """
    if not said.strip():
        return False
    text = " ".join(question.split())
    return _follows_in_chinese(text, said) if _HAN.search(text) else _follows(text, said)


def content_words(text: str) -> list[str]:
    """The words of a text that say something: no function words; of Chinese the runs between them."""
    if _HAN.search(text):
        return [part for part in _HAN_FILLERS.sub(" ", text).split() if _HAN.search(part) or part.isalnum()]
    return [word for word in _WORD.findall(text) if word.casefold() not in ENGLISH]


def _follows(text: str, said: str) -> bool:
    if _OPENING.match(text) or _THERE.search(text):
        return True
    if all(_says_nothing(word) for word in _WORD.findall(text)):
        return True
    if any(_refers_back(text, match) for match in _PRONOUN.finditer(_without_empty_it(text))):
        return True
    pointing = _POINTING.search(text)
    if pointing is not None and not _CLAUSE.search(text[: pointing.start()].partition(" ")[2]):
        return True
    return not _names(text) and _speaks_of(text, said)


def _says_nothing(word: str) -> bool:
    folded = word.casefold()
    return folded in ENGLISH or folded in _MEASURES or folded.isdecimal()


def _without_empty_it(text: str) -> str:
    """The text with each `it` that stands for nothing blanked out, places kept."""
    return _EMPTY_IT.sub(lambda match: re.sub(r"\S", " ", match.group()), text)


def _refers_back(text: str, pronoun: re.Match[str]) -> bool:
    """Whether a pronoun stands for something that the question itself does not name before it."""
    before, word = text[: pronoun.start()], pronoun.group().casefold()
    opening = _FIRST_CLAUSE.match(text)
    if opening is not None and pronoun.start() < opening.end() and _names(text[opening.end() :], inside=True):
        return False
    found = [match.end() for match in _PHRASE.finditer(before)] + [end for _, end in _name_spans(before)]
    if not found:
        return True
    if word not in _OBJECT or (word == "her" and re.match(r" [a-z]", text[pronoun.end() :])):
        return False
    # The object of a clause is not its subject: in "Did Anna marry him?" it is somebody else.
    return not _CLAUSE.search(before[min(found) :])


def _names(text: str, *, inside: bool = False) -> bool:
    return bool(_name_spans(text, inside=inside))


def _name_spans(text: str, *, inside: bool = False) -> list[tuple[int, int]]:
    """Words with a capital, codes and years; the first word only if it is none that begins questions."""
    spans = []
    for place, match in enumerate(_WORD.finditer(text)):
        word = match.group()
        known = word.casefold() in ENGLISH or word.casefold().partition("'")[0] in ENGLISH
        code = len(word) > 2 and any(char.isdigit() for char in word)
        if code or (word[0].isupper() and not known and (place or inside or not _verb_like(word))):
            spans.append(match.span())
    return spans


def _verb_like(word: str) -> bool:
    """Whether a first word may be an order, such as `List` or `Name`, and no name."""
    return word.casefold() in {
        *("list", "name", "give", "tell", "describe", "explain", "compare", "summarize", "summarise", "show"),
        *("find", "count", "please", "define", "write", "translate", "state", "identify", "say"),
    }


def _speaks_of(text: str, said: str) -> bool:
    """Whether a question without a name speaks of `the bridge` after one was spoken of."""
    words = {word.casefold() for word in _WORD.findall(said)}
    for match in _DEFINITE.finditer(text):
        nouns = [word for word in match.group(1).split() if not _says_nothing(word)]
        if nouns and any(noun.casefold() in words for noun in nouns):
            return True
    return False


def _follows_in_chinese(text: str, said: str) -> bool:
    if _HAN_OPENING.match(text):
        return True
    bare = text.rstrip("？?！!。. ")
    if bare.endswith("呢") and not _HAN_ASKS.search(bare):
        return True
    if not _HAN_FILLERS.sub("", text):
        return True
    return any(
        not _antecedent(text[: match.start()], own=bool(match.group("own")))
        for match in _HAN_PRONOUN.finditer(text)
    )


def _antecedent(before: str, *, own: bool) -> bool:
    """Whether the text before a pronoun holds something that it may stand for.

    What belongs to somebody (`own`) may belong to the subject; otherwise a joint must stand between.
    """
    places = [len(before)] if own else [match.start() for match in _HAN_JOINTS.finditer(before)]
    return any(len(_HAN.findall(_HAN_FILLERS.sub("", before[:place]))) >= 2 for place in places)
