"""Calls of the model that belong to no single passage, brought over with what they rested on."""

from __future__ import annotations

from localrag.store.row_copies import Ids, RowCopier
from localrag.store.session import listed


class CallMerger:
    """Brings calls over, each once, within the transactions of both files."""

    def __init__(self, rows: RowCopier, chunks: Ids) -> None:
        """`chunks` are the passages there and here."""
        self._rows = rows
        self._chunks = chunks
        self._calls: Ids = {}

    def bring(self, call: int | None) -> int | None:
        """The id here of a call there; None if a passage that it rested on is not here: then the call stays
        behind, since it could not go with its sources."""
        if call is None:
            return None
        if call not in self._calls:
            sources = "SELECT chunk_id FROM generation_sources WHERE generation_id = ?"
            if not all(chunk in self._chunks for chunk in self._rows.source.column(sources, [call])):
                return None
            calls = self._rows.copy("generations", "id", {"id": {call: call}}, {"chunk_id": None})
            maps = {"generation_id": calls, "chunk_id": self._chunks}
            self._rows.copy_links("generation_sources", maps, by="generation_id")
            take_prompts(self._rows, calls)
            self._calls |= calls
        return self._calls.get(call)


def take_prompts(rows: RowCopier, calls: Ids) -> None:
    """Bring over the prompts of these calls."""
    for digest, text in rows.source.each(
        "SELECT hash, text FROM prompts WHERE hash IN (SELECT prompt_hash FROM generations "
        "WHERE id IN (SELECT value FROM json_each(?)))",
        [listed(calls)],
    ):
        rows.target.run("INSERT OR IGNORE INTO prompts (hash, text) VALUES (?, ?)", [digest, text])
