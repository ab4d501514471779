"""The forms of questions that tables answer, in English and Chinese, as patterns for whole questions.

A line holds what is asked for (act, things, link), a bar, and the pattern. Words in capitals are pieces that
are put in, round brackets group, and blanks are blanks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal, cast

Act = Literal["list", "count", "most", "compare", "often"]
"""List all; count all; those named most often; which of two has more; how often one is named."""

Things = Literal["entities", "documents", "tags", "types", "claims"]
"""What is listed or counted."""

Link = Literal["", "mention", "in", "beside", "verb", "forth", "tag", "folder", "date", "media", "about"]
"""How what is asked for is tied to a name: the documents mention it; it is in that document; it is named
beside it; by a verb from it to the name, or `forth` from the name to it; by tag, folder, date or kind of
file; claims about it."""


@dataclass(frozen=True)
class Form:
    """One form."""

    act: Act
    """What is asked to be done."""

    things: Things
    """With what."""

    link: Link
    """What narrows it."""

    pattern: re.Pattern[str]
    """For the whole question, with groups of the names of `Asked`'s fields."""


_PIECES: Mapping[str, str] = {
    # A kind is up to three words, which are looked at one by one later.
    "KIND": r"(?P<kind>[^\W\d_][\w'’-]*(?: [^\W\d_][\w'’-]*){0,2}?)",
    "WHO": r"(?P<kind>who)",
    "ANYONE": r"(?P<kind>everyone|everybody|every person|who)",
    "NAME": r"(?P<name>\S.{0,80}?)",
    "OTHER": r"(?P<other>\S.{0,80}?)",
    "DOC": r"(documents?|files?|texts?|articles?|notes)",
    "CORPUS": r"( (in|across|within|throughout|from) ((all|any|each) (of )?)?"
    r"(the |these |this |my |our |those )?(whole |entire )?"
    r"(documents|files|texts?|corpus|collection|knowledge base|data|notes|articles|library|sources|"
    r"passages))",
    "SAID": r"(?P<said> ((that|which|who) )?((are|is|were|was|get|gets|have been|has been) )?"
    r"(mentioned|named|referred to|talked about|spoken of|appear|appearing|occurring|occur))",
    "THERE": r"( ((that |which )?there (are|is)|are there|exist|in total|altogether|overall))",
    "SHOW": r"((list|enumerate|show|name|give|tell|print|find|get)( me| us)?"
    r"( (a|the)( full| complete)? list of)?)",
    "ALL": r"( (all|every|each)( of)?( (the|those|these))?( different| distinct)?)",
    "COUNT": r"((how many( different| distinct| unique)?|(count|(what is |show |tell me |give me )?"
    r"(the )?(total )?number of)( all| all the| the)?))",
    "LIMIT": r"(?P<limit>\d{1,3}|two|three|four|five|six|seven|eight|nine|ten|twenty)",
    "MOST": r"(most (often |frequently )?(mentioned|named)|most frequent(ly mentioned|ly named)?)",
    "LEAD": r"((mentioned|named)( the)? most( often| frequently)?)",
    "VERB": r"(?P<verb>[a-z]+( (for|at|with|in|to|by|from|on|of|as))?)",
    "WORKS": r"(?P<verb>works? (for|at|with|in)|(belongs?|reports?) to|(lives?|studies|serves) (in|at))",
    "MENTION": r"(mentions?|names?|contains?|refers? to|talks? about|speaks? of)",
    "WHEN": r"(?P<when>in|from|of|since|after|before|until)",
    "YEAR": r"(?P<name>\d{4}(-\d{2}(-\d{2})?)?)",
    "MEDIA": r"(?P<name>pdf|html|markdown|plain text|epub|csv|json|docx|md|txt)",
    "DATED": r"(( (that|which))?( (are|were|was|is|dated|date|dates|last|changed|modified|saved)){0,4})",
    "STATUS": r"((?P<status>false|true|suspected) )?",
    "BE": r"(is|are|was|were)",
    "BASE": r"( in (the|this|my) knowledge base)?",
    "TAGGED": r"((that |which )?(are |is |have |carry )?(tagged( as| with)?|with( the)? tag|the tag))",
    "INSIDE": r"((that |which )?(are |is )?(there )?(in|under|below)( the)? folder)",
    "OFTEN": r"(often|many times|frequently)",
    "TOGETHER": r"(((that|who|which) )?(is|are|was|were) )?(mentioned|named) (together|along) with",
}
"""Pieces of the English forms; those that begin with a blank have it within."""

_ENGLISH = r"""
list documents mention | (in )?SOME DOC (that |which )?MENTION NAME
list documents mention | in (which|what) DOC (BE|does|do) NAME (mentioned|named|appear|occur|referred to)
list documents mention | where BE NAME (mentioned|named)
count documents mention | COUNT DOC (that |which )?MENTION NAME
count documents mention | in how many DOC BE NAME (mentioned|named)
list documents tag | SOME DOC TAGGED NAME
count documents tag | COUNT DOC TAGGED NAME
list documents folder | SOME DOC INSIDE NAME
count documents folder | COUNT DOC INSIDE NAME
list documents date | SOME DOCDATED WHEN YEAR
count documents date | COUNT DOCDATED( there)? WHEN YEAR
list documents media | SOME MEDIA( DOC|s)( are there|CORPUS)?
count documents media | COUNT MEDIA( DOC|s)( are there)?CORPUS?
list documents - | (EVERY|what are the) DOC( are there| do you have| are known)?BASE
list documents - | (which|what) DOC (are there|do you have|are known|are in (the|this|my) knowledge base)BASE
count documents - | COUNT DOC( are there| do you have| are)?BASE
list tags - | SOME tags( are there| are used)?CORPUS?
count tags - | COUNT tags( are there| are used)?CORPUS?
list types - | SOME (types|kinds) of (entities|entity|names)( are (there|mentioned|named|known))?CORPUS?
list types - | SOME entity types( are there)?CORPUS?
list claims about | SOME STATUSclaims ((are |that are )?made |are there )?(about|on|against|concerning) NAME
count claims about | COUNT STATUSclaims ((are |that are )?made |are there )?(about|on|against|concerning) NAME
list claims date | SOME STATUSclaims( are there)? WHEN YEAR
count claims date | COUNT STATUSclaims( are there)? WHEN YEAR
list claims - | SOME STATUSclaims( are there| are made)?CORPUS?
count claims - | COUNT STATUSclaims( are there| are made)?CORPUS?
list claims - | SOME claims (that )?are (?P<status>false|true|suspected)
count claims - | COUNT claims (that )?are (?P<status>false|true|suspected)
most entities - | (which|what) KIND BE( the)? (MOST|LEAD)CORPUS?
most entities - | WHO BE( the)? (MOST|LEAD)CORPUS?
most entities - | ((who|what|which) BE|SHOW) (the )?(LIMIT )?MOST KINDCORPUS?
most entities - | ((who|what|which) (is|are)|SHOW) (the )?top LIMIT (MOST )?KIND by mentionsCORPUS?
most entities - | ((who|what|which) (is|are)|SHOW) (the )?top LIMIT MOST KINDCORPUS?
often entities - | how OFTEN BE NAME (mentioned|named)CORPUS?
compare entities in | compare (the )?(number|count|amount)s? of KIND( mentioned| named)?( in| between| of)? \
NAME (and|with|to|versus|vs\.?) (in |that in |those in )?OTHER
compare entities in | (are|were) (there )?more KIND (mentioned |named )?in NAME (or|than)( in)? OTHER
compare entities in | (does|do) NAME (mention|name) more KIND than OTHER
compare entities in | which( \w+)? (mentions|names) more KIND[,:]? NAME or OTHER
compare entities - | compare how OFTEN NAME and OTHER are (mentioned|named)CORPUS?
compare entities - | (who|what|which( \w+)?) BE (mentioned|named) more( often| frequently)?[,:]? NAME or OTHER
compare entities - | BE NAME (mentioned|named) more( often| frequently)? than OTHER
list entities beside | (which|what) KIND BE (mentioned|named) (together|along) with NAME
list entities beside | WHO BE (mentioned|named) (together|along) with NAME
list entities beside | EVERY KIND TOGETHER NAME
list entities - | SHOWALL KIND(SAID|THERE)?CORPUS?
list entities - | ((a |the )?(full |complete )?list of (all )?(the )?|all (the )?)KINDSAIDCORPUS?
list entities - | (a |the )?(full |complete )?list of all (the )?KIND(SAID|THERE)?CORPUS?
list entities - | (list|enumerate)( the)? KIND(SAID|THERE)?CORPUS?
list entities - | SHOW the KINDSAIDCORPUS?
list entities - | (which|what)( different)? KINDSAIDCORPUS?
list entities - | (who|what|which) are (all )?the( different)? KINDSAIDCORPUS?
list entities - | (who|what|which) are all (of )?the KIND(SAID|THERE)?CORPUS?
list entities - | WHO BE( all)?(?P<said> mentioned| named)CORPUS?
list entities - | SHOW ANYONE ((who|that) is )?(?P<said>mentioned|named)CORPUS?
count entities - | COUNT KINDSAIDCORPUS?
count entities - | COUNT KINDTHERECORPUS?
count entities - | COUNT KINDCORPUS
list entities in | (which|what) KINDSAID in NAME
list entities in | WHO BE(?P<said> mentioned| named) in NAME
list entities in | SHOWALL KINDSAID? (in|from) NAME
list entities in | (which|what) KIND (does|do) NAME (mention|name)
count entities in | COUNT KINDSAID in NAME
count entities in | COUNT KIND (does|do) NAME (mention|name)
list entities verb | WHO all VERB NAME
list entities verb | WHO WORKS NAME
list entities verb | SHOW ANYONE (who |that )?VERB NAME
list entities verb | SHOWALL KIND (who|that|which) VERB NAME
list entities verb | which KIND VERB NAME
list entities forth | (which|what) KIND (does|do|did|has|have) NAME VERB
list entities forth | SHOWALL KIND (that|which) NAME VERB
list entities forth | (what|whom|who) (all )?(did|does) NAME VERB
"""

_HAN_PIECES: Mapping[str, str] = {
    "KIND": r"(?P<kind>((?![的和与與跟在])[\u3400-\u9fff]){1,6}?|[A-Za-z]{2,20}?)",
    "WHO": r"(?P<kind>谁|誰|人)",
    "NAME": r"(?P<name>\S.{0,40}?)",
    "OTHER": r"(?P<other>\S.{0,40}?)",
    "DOC": r"(文件|文档|文檔|文章|资料|資料|文本|笔记|筆記)",
    "CORPUS": r"(在?(这些|這些|所有|全部|各)?的?"
    r"(文件|文档|文檔|文章|资料|資料|文本|知识库|知識庫|语料|語料|书|文)(中|里|裡|里面|当中|之中|內|内)?[，,]?)",
    "SHOW": r"(列出|列举|列舉|给出|給出|写出|寫出|枚举|枚舉|罗列|羅列|显示|顯示|说出|說出|找出)(一下)?",
    "ALL": r"(所有|全部|一切|每个|每個|每一个)(的)?",
    "SAID": r"(?P<said>被?(提到|提及|出现|出現|涉及|点名|點名|谈到|談到)(了|过|過)?(的)?)",
    "SOME": r"(哪些|哪几[个位家种]|哪幾[個位家種])",
    "MANY": r"(多少|几|幾)",
    "UNIT": r"([个個位名家座种種份篇本项項条條部]?)(不同的)?",
    "NAMED": r"((被)?(提到|提及|出现|出現))",
    "AND": r"(和|与|與|跟)",
    "NUMBER": r"(数量|數量|人数|人數|数目|數目|多少)",
    "WHICH": r"(是谁|是誰|是什么|是什麼|是哪[个個位家]|有哪些|是哪些)",
    "LIST": r"(名单|清单|列表|名單|清單)?",
    "TOTAL": r"(一共|总共|總共|共|总计|總計)?",
    "LIMIT": r"(?P<limit>\d{1,3}|[两二三四五六七八九十]|二十)",
    "TIMES": r"(的)?(次数|次數|频率|頻率)?",
    "YEAR": r"(?P<name>\d{4})年?",
    "STATUS": r"((?P<status>虚假|虛假|不实|不實|假|真实|真實|属实|可疑|疑似)的?)?",
    "CLAIMS": r"(说法|說法|主张|主張|断言|斷言|指控|声明|聲明)",
}
"""Pieces of the Chinese forms."""

_CHINESE = r"""
list documents mention | (CORPUS?有|在)?SOMEDOC(中|里|裡)?(都)?SAIDNAME
list documents mention | NAME(都)?(在|出现在|出現在)SOMEDOC(中|里|裡|里面)?SAID?
list documents mention | (SHOW)ALLSAIDNAME的DOCLIST
count documents mention | TOTAL(有)?MANYUNITDOC(中|里|裡)?SAIDNAME
list documents tag | (有)?SOMEDOC(的)?(标签|標籤|标记|標記)(是|为|為|有)NAME
list documents tag | (SHOW)ALL(带有|帶有|有)?(标签|標籤)(是|为|為)?NAME的DOC
count documents tag | TOTAL(有)?MANYUNITDOC(的)?(标签|標籤|标记|標記)(是|为|為|有)NAME
list documents date | (有)?SOMEDOC是YEAR的
count documents date | TOTAL(有)?MANYUNITDOC是YEAR的
count documents date | TOTAL有MANYUNITYEAR的DOC
list documents - | (SHOW)ALLDOCLIST
list documents - | (知识库|知識庫)(中|里|裡)?(都)?有SOMEDOC
count documents - | (知识库|知識庫)?(中|里|裡)?TOTAL有MANYUNITDOC
list tags - | (SHOW)ALL(标签|標籤)|(知识库|知識庫)?(中|里|裡)?有SOME(标签|標籤)
count tags - | TOTAL有MANYUNIT(标签|標籤)
list claims about | (SHOWALL?|有?SOME)(关于|關於)NAME的STATUSCLAIMS
list claims - | (SHOWALL|有SOME)STATUSCLAIMS
count claims - | TOTAL有MANYUNITSTATUSCLAIMS
most entities - | CORPUS?NAMEDTIMES最多的(前)?(LIMIT[个個位名家])?KINDWHICH?
most entities - | CORPUS?(哪[个個位家座])KINDNAMED(得)?TIMES最多
most entities - | CORPUS?WHONAMED(得)?TIMES最多
often entities - | NAMECORPUS?TOTALNAMED(了|过|過)?MANY次
compare entities in | (比较|比較|对比|對比)(一下)?NAMEANDOTHER(中|里|裡)?SAID?(的)?KIND(的)?NUMBER
compare entities - | NAME(AND|还是|還是)OTHER(，|,)?(谁|誰|哪个|哪個)NAMED(得)?TIMES(更多|多|较多)
list entities beside | (SHOW)?(和|与|與|跟)NAME(一起|同时|同時|一同)SAIDKIND(有哪些|LIST)
list entities beside | (有)?SOMEKIND(和|与|與|跟)NAME(一起|同时|同時|一同)SAID
list entities - | CORPUS?SHOWCORPUS?的?ALLSAID?KINDLIST
list entities - | SHOWCORPUS?的?SAIDALL?KINDLIST
list entities - | CORPUS(都)?SAIDSOME(不同的)?KIND
list entities - | CORPUS?(有)?SOME(不同的)?KIND(被)SAID
list entities - | CORPUS(都)?有(?P<said>)?SOME(不同的)?KIND
list entities - | CORPUS?SAIDKIND(都)?(有哪些|是哪些)
count entities - | CORPUSTOTALSAIDMANYUNITKIND
count entities - | CORPUSTOTAL有MANYUNITKIND
count entities - | CORPUS?TOTAL有MANYUNITKIND(被)SAID
count entities - | CORPUS?TOTALSAIDMANYUNITKIND
list entities in | (在)?NAME(中|里|裡|里面)(都)?SAIDSOME(不同的)?KIND
list entities in | (SHOW)NAME(中|里|裡|里面)?SAID?(的)?ALLSAID?KIND
count entities in | (在)?NAME(中|里|裡|里面)TOTALSAIDMANYUNITKIND
"""

_PIECE = re.compile("|".join(sorted({*_PIECES, *_HAN_PIECES, "SOME", "EVERY"}, key=len, reverse=True)))


@cache
def english_forms() -> tuple[Form, ...]:
    """The English forms; of several that fit the first counts most."""
    every = f"({_PIECES['SHOW']}{_PIECES['ALL']}|{_PIECES['SHOW']} the|list|enumerate|all( the| of the)?)"
    return _forms(_ENGLISH, {**_PIECES, "EVERY": every, "SOME": f"({every}|which|what|(what|which) are the)"})


@cache
def chinese_forms() -> tuple[Form, ...]:
    """The Chinese forms; of several that fit the first counts most."""
    return _forms(_CHINESE, _HAN_PIECES)


def _forms(lines: str, pieces: Mapping[str, str]) -> tuple[Form, ...]:
    found = []
    for line in lines.replace("\\\n", "").strip().splitlines():
        head, _, pattern = line.partition(" | ")
        act, things, link = head.split()
        pattern = _PIECE.sub(lambda match: pieces[match.group()], pattern)
        # Plain brackets only group, and so do pieces that come a second time.
        pattern = re.sub(r"(?<!\\)\((?!\?)", "(?:", pattern)
        pattern = _first_groups(pattern)
        found.append(
            Form(
                cast(Act, act),
                cast(Things, things),
                cast(Link, "" if link == "-" else link),
                re.compile(pattern, re.IGNORECASE),
            )
        )
    return tuple(found)


def _first_groups(pattern: str) -> str:
    """The pattern in which only the first group of each name has it."""
    seen: set[str] = set()

    def named(match: re.Match[str]) -> str:
        again = match.group() in seen
        seen.add(match.group())
        return "(?:" if again else match.group()

    return re.sub(r"\(\?P<\w+>", named, pattern)
