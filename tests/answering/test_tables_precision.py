"""Ordinary questions are none for tables, in a knowledge base that could answer many of them wrongly."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.answering.tables import table_answer
from localrag.answering.tables_asked import asked_of
from localrag.store import Store
from tests.answering.tables_corpus import harbour, sixty
from tests.store.helpers import new_store

ENGLISH = """
Who is Marta Lind?
Who founded the Tarn Institute?
Where is Tarnby?
When was the Tarn Institute founded?
What did Marta Lind say about the storm?
Why did Otto Kern write to the institute?
How many people live in Tarnby?
How many people does the Tarn Institute employ?
How many ships did Jonas Ek sail?
How many attorneys work for the Tarn Institute?
How many children does Marta Lind have?
How many countries are there in Africa?
How many times did Jonas Ek sail to Tarnby?
How much did the institute pay?
How long was the voyage?
How old is Rut Falk?
List the reasons for the storm.
List three reasons why Otto Kern left.
List all reasons why the institute failed
List the steps to repair the boat
List all the ways to get to Tarnby
Name the mother of Marta Lind.
Name two people who met in Tarnby
Name a city near Tarnby
Which person founded the institute?
Which of the two is older, Marta Lind or Jonas Ek?
Which film came out first, The Harbour or The Storm?
Which attorney met Rut Falk?
Which document should I read first?
Which is better?
What are the main themes?
What are the causes of the storm?
What are the people in Tarnby like?
What is the number of the house?
What is the most important event?
What is the most common cause of storms?
What does the document say about Otto Kern?
What is mentioned about the storm?
What does Jonas Ek mention in his letter?
What do people mention about Lind in the letter to Ek?
Compare Marta Lind and Jonas Ek
Compare the institute with the bank
Compare the number of storms in 1901 and 1902
Tell me about all the people at the institute
Tell me all about Marta Lind
Show me how to sail
Give me all the details on the storm
Give me a summary of all documents
Summarize all documents
Explain the claims made about the institute in the second letter
Is Marta Lind mentioned?
Is Otto Kern an attorney?
Are there any attorneys?
Did all people leave?
Do all documents agree on the date?
Count from one to ten
Count the letters in Tarnby
All people are mortal, why?
How are Marta Lind and Jonas Ek connected?
How did the attorneys meet the surveyor?
Where is the Tarn Institute's office mentioned to be?
Hello
Thanks, that is all
List
How many?
Which documents?
""".strip().splitlines()

CHINESE = """
张三是谁？
张三是律师吗？
松江镇在哪里？
松江镇有多少人？
松江银行有多少名律师？
王五在松江银行工作了几年？
张三有几个孩子？
张三去过哪些地方？
张三和李四是什么关系？
李四为什么来松江镇？
请介绍一下张三
松江银行的主要业务有哪些？
列出三个原因
列出暴风雨的原因
列出修船的步骤
一共有多少条船？
哪些人到了松江镇？
哪个律师认识张三？
最重要的事件是什么？
文件里对张三是怎么说的？
这个说法是真的吗？
比较张三和李四
松江镇有哪些特点？
多少人住在松江镇？
谁最早到？
""".strip().splitlines()


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """People, places and firms enough for wrong answers."""
    with new_store(tmp_path_factory.mktemp("precision") / "full.localrag") as store:
        sixty(store)
        harbour(store)
        yield store


@pytest.mark.parametrize("question", ENGLISH)
def test_ordinary_english_questions(full: Store, question: str) -> None:
    found = table_answer(full, question, "en")
    assert found is None, found.markdown[:200]


@pytest.mark.parametrize("question", CHINESE)
def test_ordinary_chinese_questions(full: Store, question: str) -> None:
    found = table_answer(full, question, "zh")
    assert found is None, found.markdown[:200]


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(["List all {}", "Which documents mention {}?", "How many {} are mentioned?", "{}"]),
    st.text(max_size=60),
    st.sampled_from(["en", "zh"]),
)
def test_nothing_that_is_typed_breaks_it(full: Store, form: str, text: str, language: str) -> None:
    found = table_answer(full, form.replace("{}", text), language)
    if found is not None:
        assert found.rows
        assert found.markdown


def test_a_question_as_long_as_a_document_is_not_looked_at() -> None:
    assert list(asked_of("List all people " + "and all names " * 2000, "en")) == []
