"""Makes an answer of a table: which questions are tried, and what of the table a reader gets."""

from __future__ import annotations

from collections.abc import Mapping

from localrag.answering.explaining import Explanation
from localrag.answering.options import AskOptions
from localrag.answering.tables import TableAnswer, table_answer
from localrag.answering.types import Answer
from localrag.documents import language
from localrag.store.database import Store

MODE = "table"
"""The mode of an answer that no model wrote."""

_WHY = "it asks to list, count or compare all of something"


def table_for(store: Store, question: str, options: AskOptions) -> TableAnswer | None:
    """The table that answers a question, if there is one.

    None is looked for where a person has chosen a mode, has further wishes, which a table cannot follow, or
    asks several knowledge bases.
    """
    if options.mode != "auto" or options.bases or options.user_prompt.strip():
        return None
    return table_answer(store, question, language.detect(question), options.filter)


def answer_of(
    table: TableAnswer, question: str, seconds: Mapping[str, float], *, rewritten: str = ""
) -> Answer:
    """The answer that shows a table. `rewritten` is the question as it was written out, if it was."""
    return Answer(
        question=question,
        answer=table.markdown,
        abstained=False,
        mode=MODE,
        model="",
        coverage=table.coverage,
        citations=table.citations,
        language=table.language,
        seconds=seconds,
        rewritten=rewritten,
        explanation=Explanation(
            question=rewritten or question, mode=MODE, asked="auto", why=_WHY, seconds=seconds
        ),
        table=table,
    )
