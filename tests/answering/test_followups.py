"""Which questions need what was said before: told without a model, and seldom wrongly."""

from __future__ import annotations

import pytest

from localrag.answering.followups import is_follow_up

SAID = (
    "Who built the Halden Bridge? Marta Lind built the bridge in 1931 and wrote letters to the mayor. "
    "谁建了这座桥？玛塔·林德在1931年建了这座桥。"
)

_FOLLOW = (
    "And in 1912?|What about Berlin?|Why?|When was that?|Who built it?|Did he marry?|Where was she born?"
    "|How old is he?|What did they do next?|And her husband?|Did Anna marry him?|How long did it take?"
    "|Is it still open?|Who lives there?|What happened then?|Which one is older?|Tell me more"
    "|What else did he write?|How many?|In which year?|Who was his father?|Who repaired the bridge?"
    "|What is the length of that bridge?|When did this happen?|Why did they sell it?|What is its height?"
    "|Can you explain that?|Did the mayor visit them?|And the second one?|Who owns it now?|Is that true?"
    "|What were those letters about?|With whom?|How much?|Since when?|Where exactly?"
    "|What did her brother say?|Were they friends?|what about berlin|WHY?|Did the company buy it?"
    "|他是谁？|她的丈夫是谁？|那1912年呢？|1912年呢？|为什么？|什么时候？|它是什么时候建成的？|他们住在哪里？"
    "|那座桥有多长？|这本书是谁写的？|后来怎么样了？|还有呢？|该公司的总部在哪里？|前者更古老吗？"
    "|请问她后来去了哪里？|是谁修复了它？|那是什么意思？|在哪里？|多少钱？|其妻是谁？|林小川呢？|然后呢？"
)
FOLLOW = _FOLLOW.split("|")

_ALONE = (
    "Who built the Halden Bridge?|What is the capital of France?|Did Tomas Berg say why he left?"
    "|How many people are there in Orla?|Is it true that Anna lives in Halden?"
    "|What did Marta Lind do after she sold her mill?|When he was young, where did Darwin live?"
    "|Which river does the Orla Bridge cross and how long is it?|List all bridges in Norway."
    "|How long does it take to build a bridge?|What is the name of the man that repaired the Orla Mill?"
    "|Who said that Marta was ill?|What happened in Halden in 1931?|Who is the mother of the director of Ran?"
    "|Did Anna sell her house?|Which company bought its rival in 1999?|What does ORA-01555 mean?"
    "|How is coffee made?|Why do volcanoes erupt?|Who is older, Anna or Berta?|Name three rivers in Chile"
    "|What was there before the Halden Bridge?|Does the library lend what it keeps in Halden?"
    "|Is the Orla longer than the Glomma?|Halden Bridge|What did Jon Aas write about in those years?"
    "|陈玉兰把茶馆交给了谁？|其他茶馆在哪里？|鲁迅和他的弟弟住在哪里？|应该怎样申请护照？|因此产生的费用由谁承担？"
    "|临江茶馆的院子里有什么？|其中最长的河流是长江吗？|吉他是什么时候发明的？|加那利群岛在哪里？"
    "|陈玉兰在哪一年开办了她的茶馆？|谁发明了电话？|青石镇有多少家茶馆？"
)
ALONE = _ALONE.split("|")


@pytest.mark.parametrize("question", FOLLOW)
def test_a_follow_up_is_told(question: str) -> None:
    assert is_follow_up(question, SAID)


@pytest.mark.parametrize("question", ALONE)
def test_a_question_that_stands_alone_is_left_alone(question: str) -> None:
    assert not is_follow_up(question, SAID)


@pytest.mark.parametrize("question", [*FOLLOW, *ALONE])
def test_where_nothing_was_said_nothing_follows(question: str) -> None:
    assert not is_follow_up(question, " \n")


def test_the_thing_spoken_of_decides_whether_its_name_is_missing() -> None:
    assert is_follow_up("Who repaired the bridge?", SAID)
    assert not is_follow_up("Who repaired the lighthouse?", SAID)


@pytest.mark.parametrize("question", ["?", "…", "12", "\u202e", "{history}", "'" * 500, "it " * 5000])
def test_odd_questions_do_no_harm(question: str) -> None:
    assert is_follow_up(question, SAID) in (True, False)
