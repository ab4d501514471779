"""Words that say nothing of what a question is about, in English, Chinese and (particles) Japanese.

Chinese ones are given as the bigrams and lone characters that `terms.py` cuts questions into.
"""

from __future__ import annotations


def _split(words: str) -> frozenset[str]:
    return frozenset(words.split())


ENGLISH = _split(
    """
    a about all also an and any are as at be been being but by can could did do does doing for from had has
    have he her him his how i if in into is it its me my no nor not of on or our shall she should so some
    such than that the their them then there these they this those to us was we were what when where
    which who whom whose why will with would you your tell please explain describe give list show
    s t ll re ve don doesn didn isn aren wasn weren won wouldn couldn shouldn hasn haven hadn
    """
)

CHINESE = _split(
    """
    什么 怎么 怎样 如何 哪些 哪个 哪里 哪儿 哪位 为什 么是 是什 么样 多少 几个 是谁 谁是 请问 是否 是不 不是
    有没 没有 可以 这个 那个 这些 那些 它们 他们 我们 你们 以及 或者 还是 因为 所以 但是 如果 的是 是在 时候
    什麼 怎麼 怎樣 哪個 哪裡 為什 麼是 麼樣 幾個 誰是 是誰 請問 沒有 這個 那個 這些 們的 們是 請介 介绍 介紹
    请介 告诉 告訴 诉我 訴我 一下 的 了 吗 嗎 呢 吧 啊 是 在 和 与 與 或 及 之 也 都 就 而 被 把 对 對 谁 誰
    """
)

JAPANESE = _split("の は が を に へ と で も か です ます")

ALL = ENGLISH | CHINESE | JAPANESE
"""All of them."""
