"""Documents of another file: joined with those of the same content, or brought in with their passages."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from localrag.store.curation_rows import DocumentRef
from localrag.store.documents import Documents
from localrag.store.followed_rows import Place, full_path
from localrag.store.fulltext import FullText
from localrag.store.matching import ChunkWriter
from localrag.store.merge_calls import take_prompts
from localrag.store.row_copies import Ids, RowCopier
from localrag.store.rows import DocumentRow, NewChunk
from localrag.store.session import Row, listed
from localrag.store.zero import copy_document as copy_names

_IN = "IN (SELECT value FROM json_each(?))"
_PASSAGES = (
    "SELECT id, state, text, language, ordinal, char_start, char_end, heading, page, tokens FROM chunks "
    "WHERE document_id = ? ORDER BY ordinal"
)


class DocumentMerger:
    """Brings documents in one after the other, within the transactions of both files."""

    def __init__(self, rows: RowCopier, documents: Documents, fulltext: FullText, source_name: str) -> None:
        self._rows = rows
        self._source = rows.source
        self._target = rows.target
        self._documents = documents
        self._fulltext = fulltext
        self._writer = ChunkWriter(rows.target, fulltext)
        self._source_name = source_name
        self.documents: Ids = {}
        """Documents there and here."""
        self.chunks: Ids = {}
        """Passages there and those here with the same text."""
        self.readings: Ids = {}
        """Passages there whose reading comes over, and those here."""
        self.added: list[str] = []
        """Paths of documents that are new here."""
        self.taken: list[str] = []
        """Paths of documents that were here and take something that only the other file had."""
        self.renamed: list[tuple[str, str]] = []
        """Places there, as shown to a person, and where their content is here."""
        self.moves: dict[tuple[str, str], DocumentRef] = {}
        """Documents that got another place, by their root and path there."""
        self.paths: dict[int, str] = {}
        """Path here of documents that got another place, by their id here."""
        self.changed: set[int] = set()
        """Documents here that are new or got another place."""
        self.read_more: set[int] = set()
        """Documents here that were there before and take readings."""
        self.known = 0
        """Documents whose content was here."""
        self.places = 0
        """Places of known content that were not known."""
        self.passages = 0
        """Passages that came in."""

    def take(self, document_id: int) -> None:
        """Bring in one document."""
        root, path, sha256, text = self._source.row(
            "SELECT root, path, sha256, text FROM documents WHERE id = ?", [document_id]
        ) or ("", "", "", "")
        here = self._same_content(root, path, sha256, text)
        if here is not None:
            self._join(document_id, here, text)
            return
        taken = self._documents.by_place(root, path)
        if taken is None:
            self._bring(document_id, root, path)
        elif taken.status in ("failed", "skipped") and not taken.chunks and text.strip():
            self._revive(document_id, taken)
        elif text.strip():
            self._bring(document_id, *self._other_place(root, path))
        else:
            # Nothing is in it, or it could not be read; the one that is here stands for this place.
            self.known += 1
            self.documents[document_id] = taken.id

    def take_roots(self) -> None:
        """Follow the folders that the other file follows; one that is followed here keeps its patterns."""
        names = self._rows.columns("roots")
        for values in self._source.rows(f"SELECT {', '.join(names)} FROM roots ORDER BY id"):
            self._target.run(
                f"INSERT OR IGNORE INTO roots ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",
                values,
            )

    def take_readings(self) -> None:
        """Bring over what was read in passages; which entities it belongs to is found out afterwards."""
        if not self.readings:
            return
        self._target.run_many(
            "UPDATE chunks SET state = ?, attempts = ?, left_out = ?, error = ? WHERE id = ?",
            [
                (*values, self.readings[chunk_id])
                for chunk_id, *values in self._source.rows(
                    f"SELECT id, state, attempts, left_out, error FROM chunks WHERE id {_IN}",
                    [listed(self.readings)],
                )
            ],
        )
        calls = self._rows.copy("generations", "chunk_id", {"chunk_id": self.readings})
        maps = {"chunk_id": self.readings, "generation_id": calls}
        nobody = {"entity_id": None, "relation_id": None, "subject_id": None, "object_id": None}
        self._rows.copy("mentions", "chunk_id", maps, nobody)
        self._rows.copy("relation_mentions", "chunk_id", maps, nobody)
        claims = self._rows.copy("claims", "chunk_id", maps, nobody)
        self._rows.copy_links("claim_quotes", {"claim_id": claims}, by="claim_id")
        self._rows.copy("entity_aliases", "chunk_id", maps, nobody)
        self._rows.copy("rejects", "generation_id", {"generation_id": calls})
        maps = {"generation_id": calls, "chunk_id": self.chunks}
        self._rows.copy_links("generation_sources", maps, by="generation_id")
        take_prompts(self._rows, calls)

    def _same_content(self, root: str, path: str, sha256: str, text: str) -> DocumentRow | None:
        """The document here with the same content; the one at the same place, if there are several."""
        at_place = self._documents.by_place(root, path)
        if at_place is not None and at_place.sha256 == sha256 and (at_place.chunks or not text.strip()):
            return at_place
        if not text.strip():
            return None
        return self._documents.by_hash(sha256)

    def _join(self, document_id: int, here: DocumentRow, text: str) -> None:
        self.documents[document_id] = here.id
        self.known += 1
        self._join_places(document_id, here.id)
        if not here.chunks and text.strip():
            self._revive(document_id, here)
            return
        there = self._passages(document_id)
        mine = self._rows_here(here.id)
        pairs = _pairs(there, mine)
        if len(pairs) < len(there) and _read(there) > _read(mine) and self._documents.text(here.id) == text:
            # Cut in another way, and read further there.
            touched, _ = self._writer.replace(here.id, [_new_chunk(row) for row in there])
            touched.settle(self._target)
            pairs = _pairs(there, self._rows_here(here.id))
            self.changed.add(here.id)
        self.chunks |= {row[0]: other[0] for row, other in pairs}
        readings = {row[0]: other[0] for row, other in pairs if row[1] == "read" and other[1] != "read"}
        if readings:
            self.readings |= readings
            self.read_more.add(here.id)
            self.taken.append(here.path)

    def _join_places(self, document_id: int, here: int) -> None:
        """Note places of the same content that are not known here."""
        for place in self._places(document_id):
            if self._documents.by_place(place.root, place.path) is None:
                self._documents.add_place(here, place)
                self.places += 1
                self.changed.add(here)

    def _bring(self, document_id: int, root: str, path: str) -> None:
        """Bring in a document that is not here, at this place."""
        names = self._rows.columns("documents")
        values = self._source.row(f"SELECT {', '.join(names)} FROM documents WHERE id = ?", [document_id])
        assert values is not None
        here = self._rows.put("documents", values, {}, {"root": root, "path": path})
        self.added.append(path)
        self._bring_passages(document_id, here)
        was = Place(*(values[names.index(name)] for name in ("root", "path", "size", "mtime")))
        if (was.root, was.path) != (root, path):
            digest = values[names.index("sha256")]
            self.moves[was.root, was.path] = DocumentRef(root, path, digest)
            self.paths[here] = path
            self.renamed.append((was.full, full_path(root, path)))
        self._join_places(document_id, here)

    def _revive(self, document_id: int, here: DocumentRow) -> None:
        """Give a document that could not be read here the text that the other file has."""
        names = [name for name in self._rows.columns("documents") if name not in ("root", "path", "added_at")]
        values = self._source.row(f"SELECT {', '.join(names)} FROM documents WHERE id = ?", [document_id])
        assert values is not None
        self._target.run(
            f"UPDATE documents SET {', '.join(f'{name} = ?' for name in names)} WHERE id = ?",
            [*values, here.id],
        )
        self.taken.append(here.path)
        self._bring_passages(document_id, here.id)

    def _bring_passages(self, document_id: int, here: int) -> None:
        self.documents[document_id] = here
        self.changed.add(here)
        chunks = self._rows.copy("chunks", "document_id", {"document_id": {document_id: here}})
        self._fulltext.add(chunks.values())
        copy_names(self._source, self._target, document_id, here, chunks)
        self.passages += len(chunks)
        self.chunks |= chunks
        read = self._source.column(
            "SELECT id FROM chunks WHERE document_id = ? AND state = 'read'", [document_id]
        )
        self.readings |= {chunk_id: chunks[chunk_id] for chunk_id in read}

    def _other_place(self, root: str, path: str) -> tuple[str, str]:
        """A place that says where the document comes from, and that is no folder which sync could look in."""
        prefix = f"merged from {self._source_name}"
        number = 1
        while True:
            other = "/".join((prefix, root.strip("/"))) if root.strip("/") else prefix
            if self._documents.by_place(other, path) is None:
                return other, path
            number += 1
            prefix = f"merged from {self._source_name} ({number})"

    def _places(self, document_id: int) -> list[Place]:
        return [
            Place(*row)
            for row in self._source.rows(
                "SELECT root, path, size, mtime FROM documents WHERE id = ?1 UNION ALL SELECT * FROM "
                "(SELECT root, path, size, mtime FROM copies WHERE document_id = ?1 ORDER BY root, path)",
                [document_id],
            )
        ]

    def _passages(self, document_id: int) -> list[Row]:
        return self._source.rows(_PASSAGES, [document_id])

    def _rows_here(self, document_id: int) -> list[Row]:
        return self._target.rows(_PASSAGES, [document_id])


def _pairs(there: Sequence[Row], here: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Passages with the same text and language, equal ones in their order."""
    waiting: dict[tuple[str, str], deque[Row]] = {}
    for row in here:
        waiting.setdefault((row[2], row[3]), deque()).append(row)
    found = []
    for row in there:
        same = waiting.get((row[2], row[3]))
        if same:
            found.append((row, same.popleft()))
    return found


def _read(passages: Sequence[Row]) -> int:
    return sum(row[1] == "read" for row in passages)


def _new_chunk(row: Row) -> NewChunk:
    _, _, text, language, _, start, end, heading, page, tokens = row
    return NewChunk(start, end, heading, page, tokens, language, text)
