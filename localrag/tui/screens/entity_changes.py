"""What a person can decide about entities, asked for in dialogs and told when it is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from localrag.plain import plain, quoted
from localrag.tui.screens.dialogs import Confirm
from localrag.tui.screens.entity_choice import Choice, EntityPicker, LineForm
from localrag.tui.screens.entity_deciding import decide, last_decision, refuse, take_back, when

if TYPE_CHECKING:
    from localrag.curating import Decided, EntityView, LogEntry
    from localrag.kb import KnowledgeBase
    from localrag.store.graph_rows import RelationRow
    from localrag.tui.screens.graph import GraphScreen
    from localrag.tui.words import Fault

T = TypeVar("T")

_DESCRIBED = 110
_TOLD = 3
_RELATIONS = 1_000

ACTIONS: tuple[tuple[str, str, str], ...] = (
    ("rename", "r", "Rename"),
    ("retype", "t", "Give it another type"),
    ("describe", "d", "Describe it in your own words"),
    ("add alias", "a", "Add another name"),
    ("remove alias", "x", "Take another name away"),
    ("merge", "m", "Merge it into another entity"),
    ("apart", "k", "Keep it apart from another entity"),
    ("split", "s", "Split: part of its mentions mean another one"),
    ("delete", "D", "Delete: it is no entity at all"),
)
"""What can be done to an entity: the action, its letter, its words."""

ON_RELATION: tuple[tuple[str, str, str], ...] = (
    ("reverse", "v", "Turn this relation round"),
    ("describe relation", "w", "Describe this relation in your own words"),
    ("delete relation", "R", "Delete this relation"),
)
"""What can be done to the relation at the cursor."""


class Changes:
    """Makes decisions for the graph place. Each is kept, and each can be taken back."""

    def __init__(self, screen: GraphScreen) -> None:
        self._screen = screen

    def offer(self) -> None:
        """Show what can be done to what is chosen."""
        marked = self._screen.marked
        if len(marked) > 1:
            self._choose_survivor(marked)
            return
        entity_id = self._screen.entity
        if entity_id:
            self._look(lambda kb: kb.entities.show(f"#{entity_id}"), self._offer_for)

    def _offer_for(self, view: EntityView) -> None:
        actions = list(ACTIONS)
        item = self._screen.page.item if self._screen.view == "page" and not self._screen.finding else None
        if item is not None and item.kind == "relation":
            actions += ON_RELATION
        if not view.aliases:
            actions = [action for action in actions if action[0] != "remove alias"]
        options = [(name, f"{letter}  {words}") for name, letter, words in actions]
        letters = {letter: name for name, letter, _ in actions}

        def chosen(name: str | None) -> None:
            if name is not None:
                self._do(name, view, item.other if item is not None else 0)

        self._screen.app.push_screen(
            Choice(f"Change {plain(view.entity.name)}", options, letters=letters), chosen
        )

    def _do(self, name: str, view: EntityView, other: int) -> None:
        row = view.entity
        shown, this = quoted(row.name), f"#{row.id}"
        if name == "rename":
            words = f"{shown} is called so from now on; the old name stays another name of it."
            self._type(
                "Rename",
                words,
                row.name,
                lambda value: self._change(lambda kb: kb.entities.rename(this, value)),
            )
        elif name == "retype":
            words = f"The type of {shown}, whatever was read."
            self._type(
                "Type",
                words,
                row.type,
                lambda value: self._change(lambda kb: kb.entities.retype(this, value)),
            )
        elif name == "describe":
            words = f"What {shown} is, in place of what was read. Leave it empty for the words of the texts."
            value = row.summary or " ".join(row.descriptions)
            self._type(
                "Description",
                words,
                value,
                lambda text: self._change(lambda kb: kb.entities.edit(this, text)),
                empty=True,
            )
        elif name == "add alias":
            words = f"This name means {shown} too, in questions and in all that is read later."
            self._type(
                "Another name", words, "", lambda value: self._change(lambda kb: kb.aliases.add(this, value))
            )
        elif name == "remove alias":
            self._remove_alias(view)
        elif name == "merge":
            self._pick(f"Merge {plain(row.name)} into …", lambda found: self._confirm_merge([row.id], found))
        elif name == "apart":
            self._pick(f"Keep {plain(row.name)} apart from …", lambda found: self._keep_apart(row.id, found))
        elif name == "split":
            self._split(view)
        elif name == "delete":
            self._delete(view)
        else:
            self._change_relation(name, row.id, other)

    # Single decisions

    def _remove_alias(self, view: EntityView) -> None:
        names = list(dict.fromkeys(alias.name for alias in view.aliases))
        title = f"Which does not mean {plain(view.entity.name)}?"
        options = [(name, plain(name)) for name in names]

        def chosen(name: str | None) -> None:
            if name is not None:
                self._change(lambda kb: kb.aliases.remove(f"#{view.entity.id}", name))

        self._screen.app.push_screen(Choice(title, options), chosen)

    def _delete(self, view: EntityView) -> None:
        row = view.entity
        question = (
            f"Delete {quoted(row.name)}? {_passages(row.mentions)} of it, its relations and its claims are "
            "told no more. The texts stay as they are, and u brings it back."
        )
        self._confirm(question, "Delete", lambda: self._change(lambda kb: kb.entities.delete(f"#{row.id}")))

    def _change_relation(self, name: str, here: int, other: int) -> None:
        def ends(kb: KnowledgeBase) -> RelationRow | None:
            rows = [told.relation for told in kb.graph.relations(here, _RELATIONS, 0)]
            # Of two that go both ways the one that starts here is meant.
            rows.sort(key=lambda row: row.source_id != here)
            return next((row for row in rows if {row.source_id, row.target_id} == {here, other}), None)

        def ask(row: RelationRow | None) -> None:
            if row is None:
                self._screen.notify("The relation is not there any more.", markup=False)
                return
            ends, shown = (
                (f"#{row.source_id}", f"#{row.target_id}"),
                f"{quoted(row.source)} → {quoted(row.target)}",
            )
            if name == "reverse":
                self._change(lambda kb: kb.relations.reverse(*ends))
            elif name == "describe relation":
                words = (
                    f"What {shown} is, in place of what was read. Leave it empty for the words of the texts."
                )
                self._type(
                    "Description",
                    words,
                    row.description,
                    lambda text: self._change(lambda kb: kb.relations.edit(*ends, description=text)),
                    empty=True,
                )
            else:
                question = (
                    f"Delete {shown}? It is told no more, whoever says it now or later; u brings it back."
                )
                self._confirm(question, "Delete", lambda: self._change(lambda kb: kb.relations.delete(*ends)))

        self._look(ends, ask)

    def _keep_apart(self, one: int, other: int) -> None:
        self._change(lambda kb: kb.entities.keep_apart(f"#{one}", f"#{other}"))

    def _split(self, view: EntityView) -> None:
        from localrag.tui.screens.entity_split import SplitDialog, SplitRequest

        def chosen(request: SplitRequest | None) -> None:
            if request is not None:
                self._change(lambda kb: request.split(kb, f"#{view.entity.id}"))

        self._screen.app.push_screen(SplitDialog(self._screen.session, view), chosen)

    # Merging

    def _choose_survivor(self, ids: Sequence[int]) -> None:
        def read(kb: KnowledgeBase) -> list[EntityView]:
            return [kb.entities.show(f"#{entity_id}") for entity_id in ids]

        def ask(views: list[EntityView]) -> None:
            options = [(str(view.entity.id), _described(view)) for view in views]

            def chosen(result: str | None) -> None:
                if result is not None:
                    into = int(result)
                    self._confirm_merge([one for one in ids if one != into], into)

            title = f"These {len(views)} are one. Which name stays?"
            self._screen.app.push_screen(Choice(title, options), chosen)

        self._look(read, ask)

    def _confirm_merge(self, parts: Sequence[int], into: int) -> None:
        if into in parts:
            self._screen.notify("That is the same entity.", severity="warning", markup=False)
            return

        def read(kb: KnowledgeBase) -> list[EntityView]:
            return [kb.entities.show(f"#{entity_id}") for entity_id in (*parts, into)]

        def ask(views: list[EntityView]) -> None:
            *gone, stays = views
            question = "\n\n".join(
                [
                    "These become part of the last one:"
                    if len(gone) > 1
                    else "This becomes part of the other:",
                    *(f"— {_described(view)}" for view in gone[:_TOLD]),
                    *([f"— and {len(gone) - _TOLD:,} more"] if len(gone) > _TOLD else []),
                    f"→ {_described(stays)}",
                    "Name and type of the last stay, the others become other names of it, and relations "
                    "between them disappear. u takes it back.",
                ]
            )
            self._confirm(question, "Merge", merge)

        def merge() -> None:
            def joined(kb: KnowledgeBase) -> Decided:
                return kb.entities.merge([f"#{one}" for one in parts], f"#{into}")

            self._change(joined, lambda: self._screen.show_entity(into))

        self._look(read, ask)

    def suggest(self) -> None:
        """Show which entities may be the same."""
        from localrag.tui.screens.entity_suggestions import SuggestionsScreen

        self._screen.app.push_screen(SuggestionsScreen(self._screen.session))

    # Taking back

    def history(self) -> None:
        """List the decisions."""
        from localrag.tui.screens.entity_history import HistoryScreen

        self._screen.app.push_screen(HistoryScreen(self._screen.session))

    def undo(self) -> None:
        """Take the last decision back, once it was said which that is."""

        def ask(entry: LogEntry | None) -> None:
            if entry is None:
                self._screen.notify("Nothing was decided that could be taken back.", markup=False)
                return
            question = f"Take this back?\n\n{plain(entry.sentence)}\n\nDecided {when(entry.made_at)}."
            self._confirm(
                question, "Take it back", lambda: take_back(self._screen, self._screen.session, entry.id)
            )

        self._look(last_decision, ask)

    # Asking and doing

    def _look(self, job: Callable[[KnowledgeBase], T], done: Callable[[T], object]) -> None:
        self._screen.session.look(self._screen, job, done, self._failed, key="graph.change")

    def _change(
        self, job: Callable[[KnowledgeBase], Decided], then: Callable[[], object] | None = None
    ) -> None:
        decide(self._screen, self._screen.session, job, then)

    def _failed(self, fault: Fault) -> None:
        refuse(self._screen, fault)

    def _type(
        self, title: str, words: str, value: str, done: Callable[[str], object], *, empty: bool = False
    ) -> None:
        def typed(text: str | None) -> None:
            if text is not None:
                done(text)

        self._screen.app.push_screen(LineForm(title, words, value, empty=empty), typed)

    def _pick(self, title: str, done: Callable[[int], object]) -> None:
        def picked(entity_id: int | None) -> None:
            if entity_id is not None:
                done(entity_id)

        self._screen.app.push_screen(EntityPicker(self._screen.session, title), picked)

    def _confirm(self, question: str, yes: str, done: Callable[[], object]) -> None:
        def answered(sure: bool | None) -> None:
            if sure:
                done()

        self._screen.app.push_screen(Confirm(question, yes, "Cancel"), answered)


def _described(view: EntityView) -> str:
    """An entity in a line or two, to be compared with another."""
    row = view.entity
    text = plain(row.summary or " ".join(row.descriptions))
    text = text if len(text) <= _DESCRIBED else f"{text[: _DESCRIBED - 1].rstrip()}…"
    facts = f"{plain(row.name)} ({plain(row.type)}, {_passages(row.mentions)})"
    return f"{facts}: {text}" if text else facts


def _passages(count: int) -> str:
    return "1 passage" if count == 1 else f"{count:,} passages"
