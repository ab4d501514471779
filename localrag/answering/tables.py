"""Answers questions that ask to list, count or compare all of something from the tables, completely.

A model that reads a few passages can name a few of the people in them; the tables name all. No model is
asked. Where it is in doubt what a question means, or nothing is there, there is no table, and the question
is answered in the usual way.
"""

from __future__ import annotations

from localrag.answering.tables_asked import asked_of
from localrag.answering.tables_documents import Documents
from localrag.answering.tables_entities import Entities
from localrag.answering.tables_types import TableAnswer, TableRow
from localrag.answering.tables_written import SHOWN, written
from localrag.retrieval.scope import scope_of
from localrag.store.database import Store
from localrag.store.filters import Filter

__all__ = ["SHOWN", "TableAnswer", "TableRow", "table_answer"]


def table_answer(
    store: Store, question: str, language: str, narrowed: Filter | None = None, *, shown: int = SHOWN
) -> TableAnswer | None:
    """The answer of the tables to a clean question, in its language; None if it is no question for them.

    `narrowed` is a filter for what is listed and counted. `shown` is how many rows the text has at most; the
    answer's rows are all of them.
    """
    readings = list(asked_of(question, language))
    if not readings:
        return None
    scope = scope_of(store, narrowed or Filter())
    for asked in readings:
        finder = Entities(store, scope) if asked.things == "entities" else Documents(store, scope)
        found = finder.found(asked)
        if found is not None:
            return written(store, found, language, shown)
    return None
