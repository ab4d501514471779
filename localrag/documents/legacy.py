"""Which encoding from before Unicode a text is in, told by its commonest characters.

Read in the wrong encoding, a text turns into rare characters; read in the right one, half of it or more are
the everyday characters of its language. Each candidate is tried on a sample and gets the share of everyday
characters among all that are not ASCII, less a fine for bytes that it cannot read.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

NARROW_FLOOR = 0.05
"""Least share of everyday characters for an encoding to be believed where no other kind is left."""

WIDE_FLOOR = 0.25
"""The same for UTF-16, which can read nearly any bytes as rare characters of some script."""

_FINE = 4.0
"""How much more an unreadable place weighs than a readable character."""

_SIGNS = frozenset("、。，．：；？！（）「」『』《》〈〉“”‘’…—·～　")

_SIMPLIFIED = frozenset(
    "的一在是年国中有为和人大了用以不发于公个业数上行成可后时力会分能生到出要这动地通作法来网他学部化新方多对主其产进家"
    "经信算司等理合区现下与务及计机月全度联展本建日过体面入加自名尔系定高开同据关被长提性物斯西们并市之利最制应子政前如"
    "基里工也重就期所第而内设实间东位种统立我元服电得海资管由特规小点品保安水量或型三南道字比代平持因德场都相文式营者路"
    "技常天号民至当将心美使科次教术任模运达布表络台员金北然亚股明但类称球户外标增约还事战推从流好情息无些二接领目收形创"
    "世手正活院此拉没英步更意果速两带克原程州指升结起打问件支向线治级山该城转供身证强智包题链变看组说口效马图共受米直广"
    "研企交导你维单总续构罗队王先十很报传需选别域么非去格河色已视风议校它决她吗吧呢啊哪什怎谁话做想见走吃喜欢爱女男孩老"
    "师妈爸回再又只四五六七八九百千万今晚早春夏秋冬船岛灯请您谢车站房门写信书读听知觉给让跟把"
)

_TRADITIONAL = frozenset(
    "的國年中在為一大和是人有於地以民後了學時成上北區主部軍不會之發日東與西到斯政用行方而其公南個多及分生來世古教經最出"
    "他立對長外等自家業名作海高代法月內由馬期戰共統府也這同市產使建江特蒙文開前平被並通要稱機現至三都因力利權面所德位羅"
    "天爾拉本此過可亞系山第聯水物灣定工省數州新語量流治基加度華下約美動島朝口體河領全克合兩間進原入星關族著次制十重元得"
    "城化設將科則士種王但明或各總漢界布港里黨林臺從二達事帝義車當正子者電展理始紀然能運史俄濟小屬任議洲龍選性起院阿們改"
    "直心書包萬道式實台向條相員表普卡清如就司社路縣組帶石黑金受隊些接居土蘭器武交意商皇管結造域校尼變首保宗際安球認術曾"
    "官線場滿英四規團層常少爭巴光品形強更近集源列頭仍香務計京收轉導陸提風我你她說話什麼嗎吧呢啊沒好很看想見走吃愛女男孩"
    "老師給讓跟把曰焉矣乎哉余汝夫故乃無皆亦何若非言知見聞問五六七八九百千"
)

_KANJI = frozenset("日本人大年中国会出上生事自者月時分行見今何言私手思子方前家合間気物女学新場地同来的社後業")
_KANA = frozenset(chr(code) for code in [*range(0x3041, 0x3094), *range(0x30A1, 0x30F5), 0x30FC])

_HANGUL = frozenset(
    "이다는을의에고가한하지로사도기어나들리를인대시자은그아서라해정부수있오일전보게과여성원제스주장조우면상동만안학구모국"
    "발경연관공무생선실회니신마었것으되까때던든말날내년월저너네데더드들라러려련를만많먼명미바반방버본분비사산살새서소속"
)

_CYRILLIC = frozenset("оеаинтсрвлкмдпуяызьбгчйхжшюцщэфёіїєъ")

_WESTERN = frozenset("äöüßéèêëàâáåãçñíìîïóòôõøúùûýÿæœÄÖÜÉÈÀÁÇÑØÅÆ‘’“”„‚–—…•·€£§°«»©®™½²³¿¡ºª×±\xa0")

_EASTERN = frozenset("ąćęłńóśźżĄĆĘŁŃÓŚŹŻáčďéěíňřšťúůýžÁČĎÉĚÍŇŘŠŤÚŮÝŽőűŐŰöüÖÜăâîșțşţ„”–—\xa0")

_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class _Candidate:
    """An encoding and what its texts are made of."""

    encoding: str
    """Python's name of the codec."""

    everyday: frozenset[str]
    """Characters that make up most of a text in it."""

    alphabet: str = ""
    """For one-byte encodings: `mixed` if its words mix ASCII with other letters, `pure` if they never do."""


# In the order of preference: of two with the same share the first is taken.
_CANDIDATES = (
    _Candidate("gb18030", _SIMPLIFIED | _TRADITIONAL | _SIGNS),
    _Candidate("big5hkscs", _TRADITIONAL | _SIGNS),
    _Candidate("cp932", _KANA | _KANJI | _SIGNS),
    _Candidate("euc_jp", _KANA | _KANJI | _SIGNS),
    _Candidate("cp949", _HANGUL),
    _Candidate("cp1252", _WESTERN, "mixed"),
    _Candidate("cp1250", _EASTERN, "mixed"),
    _Candidate("cp1251", _CYRILLIC, "pure"),
    _Candidate("koi8-r", _CYRILLIC, "pure"),
)

_WIDE = (
    _Candidate("utf-16-le", _SIMPLIFIED | _TRADITIONAL | _KANA | _HANGUL | _CYRILLIC | _SIGNS),
    _Candidate("utf-16-be", _SIMPLIFIED | _TRADITIONAL | _KANA | _HANGUL | _CYRILLIC | _SIGNS),
)


def guess(sample: bytes) -> str | None:
    """Name the legacy encoding of `sample`, or None if no encoding makes ordinary text of it.

    A character cut off at the end of the sample does no harm.
    """
    return _best(sample, _CANDIDATES, NARROW_FLOOR)


def guess_wide(sample: bytes) -> str | None:
    """Name the kind of UTF-16 that `sample` is in, or None. Meant for bytes that are not UTF-8."""
    return _best(sample, _WIDE, WIDE_FLOOR)


def _best(sample: bytes, candidates: tuple[_Candidate, ...], floor: float) -> str | None:
    scored = [(_score(sample, candidate), -place) for place, candidate in enumerate(candidates)]
    score, place = max(scored)
    return candidates[-place].encoding if score >= floor else None


def _score(sample: bytes, candidate: _Candidate) -> float:
    text = sample.decode(candidate.encoding, errors="replace")
    foreign = [character for character in text if character > "\x7f"]
    if not foreign:
        return 0.0
    everyday = sum(character in candidate.everyday for character in foreign)
    # One broken place may be the cut at the sample's end.
    broken = max(0, text.count("\ufffd") - 1) + sum(map(_is_no_text, foreign))
    if candidate.alphabet:
        everyday -= sum(map(len, _strange_words(text, pure=candidate.alphabet == "pure")))
    return (everyday - _FINE * broken) / len(foreign)


def _is_no_text(character: str) -> bool:
    """Whether it is a control, unassigned, or in a private area: a sign of the wrong encoding."""
    return unicodedata.category(character) in ("Cc", "Cn", "Co")


def _strange_words(text: str, *, pure: bool) -> list[str]:
    """Words that an alphabet does not write; each is given as its letters beyond ASCII."""
    strange = []
    for word in _WORD.findall(text):
        foreign = "".join(character for character in word if character > "\x7f")
        if not foreign:
            continue
        if pure:
            odd = len(foreign) < len(word) or not (word.islower() or word.istitle() or word.isupper())
        else:
            odd = len(foreign) > max(2, len(word) // 2)
        if odd:
            strange.append(foreign)
    return strange
