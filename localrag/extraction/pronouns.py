"""Words that stand for a thing without naming it, in English and Chinese; no entity is called so."""

from __future__ import annotations

import unicodedata


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ENGLISH = _words(
    """
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she
    her hers herself it its itself they them their theirs themselves one oneself he/she she/he his/her him/her
    s/he
    this that these those who whom whose which what someone somebody something anyone anybody anything
    everyone everybody everything nobody nothing each other another both others
    """
)
_POINTING = _words("this that these those our my your his her its their same said such")
_GENERIC = _words(
    """
    document documents text texts passage passages article articles paper papers book books chapter chapters
    section sections page pages report reports study studies story stories author authors writer writers
    speaker speakers narrator company companies firm organization organisation team group committee
    department office person people man men woman women individual individuals thing things part parts
    """
)
"""Nouns that name nothing behind a pointing word: "this document", "our company"."""

_CHINESE = _words(
    """
    我 你 您 他 她 它 咱 俺 我们 你们 您们 他们 她们 它们 咱们 我方 你方 贵方 对方 双方 各方 自己 本人
    本身 自身 自我 彼此 互相 大家 人家 别人 他人 旁人 某人 有人 众人 谁 什么 哪个 哪些 这 那 这个 那个
    这些 那些 这里 那里 此人 此事 该人 其人 其中 其他 其它 另一个 前者 后者 本文 本书 本章 本节 本报告
    本文档 本文件 本研究 本公司 我公司 我们公司 我司 贵公司 贵司 该公司 该文档 该文件 该文 该书 该报告
    此文 此书 此报告 这本书 这篇文章 文中 作者本人 笔者
    """
)


def is_pronoun(name: str) -> bool:
    """Whether a name only points at something: "he", "this document", "他们".

    An abbreviation such as IT, US or WHO is written in capitals throughout and is none.
    """
    if len(name.split()) > 2:
        return False
    plain = unicodedata.normalize("NFKC", name).strip()
    folded = plain.casefold()
    if folded in _CHINESE:
        return True
    words = folded.split()
    if len(words) == 1:
        return folded in _ENGLISH and not (len(plain) > 1 and plain.isupper())
    # "My Story" with capitals is a title.
    return len(words) == 2 and words[0] in _POINTING and plain.split()[1] in _GENERIC
