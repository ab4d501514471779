"""What the place of reading says of a run and of what lies ahead, as text; nothing here touches a widget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from localrag.plain import plain
from localrag.tui.run_state import STAGES, RunState, Stage
from localrag.tui.words import Fault, count, duration

if TYPE_CHECKING:
    from localrag.indexing import Ahead, Estimate, IndexReport
    from localrag.settings import Settings

_EIGHTHS = " ▏▎▍▌▋▊▉"
_TITLE = 21
_NUMBERS = 24
_LEAST_BAR = 6


def bar(done: float, total: float, width: int) -> str:
    """How much of something is done, drawn in `width` characters; full only when all is done."""
    if width <= 0:
        return ""
    eighths = int(8 * width * min(max(done / total, 0.0), 1.0)) if total > 0 else 0
    if done < total:
        eighths = min(eighths, 8 * width - 1)
    full, rest = divmod(eighths, 8)
    drawn = "█" * full + (_EIGHTHS[rest] if rest else "")
    return drawn + "░" * (width - len(drawn))


def about(number: int) -> str:
    """A count to two digits: more would pretend to know them."""
    if number < 100:
        return str(number)
    scale: int = 10 ** (len(str(number)) - 2)
    return f"{round(number / scale) * scale:,}"


# A run that goes on


def progress_text(
    state: RunState,
    width: int,
    now: float,
    *,
    paused: bool = False,
    stopping: bool = False,
    hands: int = 1,
    adding: tuple[str, int, int] | None = None,
    short: bool = False,
) -> Text:
    """A run in lines of `width` cells: its stages, its speed, and `hands` of the passages in hand.

    `adding` is the file that is being added meanwhile, with files done and in all. With `short` the stages
    that are still to come are left out.
    """
    lines = [headline(state, paused=paused, stopping=stopping)]
    if adding is not None:
        name, done, total = adding
        lines.append(
            row("Adding text", done, total, f"{done:,} of {count(total, 'file')}", width, plain(name))
        )
    hidden = ("off", "ahead") if short and state.stage is not None else ("off",)
    lines += [stage_line(stage, width) for stage in state.stages if stage.state not in hidden]
    lines.append(Text(speed_words(state, now, paused=paused)))
    lines += hand_lines(state, hands)
    return Text("\n").join(lines)


def headline(state: RunState, *, paused: bool = False, stopping: bool = False) -> Text:
    """What goes on, in one line."""
    stage = state.stage
    title = STAGES[stage.key][0] if stage is not None else state.doing or "Preparing to index"
    if stopping:
        words = "Stopping. What was read is kept."
    elif paused:
        words = f"Paused: {title}. Space goes on; questions are answered meanwhile."
    elif state.stands:
        words = f"Waits while a question is answered: {title}"
    elif state.seconds_left is not None:
        words = f"{title}: about {duration(state.seconds_left)} left"
    else:
        words = title
    return Text(words, style="bold")


def adding_line(adding: tuple[str, int, int], width: int) -> Text:
    """Files that are being added: the one in hand, files done, and files in all."""
    name, done, total = adding
    numbers = f"{done:,} of {count(total, 'file')}"
    return row("Adding text", done, total, numbers, width, plain(name))


def stage_line(stage: Stage, width: int) -> Text:
    """A stage with its bar and its numbers."""
    title, unit = STAGES[stage.key]
    if stage.state == "ahead":
        words = f"waits, {count(stage.total, unit[:-1], unit)}" if stage.total else "waits"
        return row(title, 0, 0, words, width)
    if stage.state == "done":
        return row(title, 1, 1, f"done, {stage.done:,} {unit}", width, stage.note)
    return row(title, stage.done, stage.total, f"{stage.done:,} of {stage.total:,} {unit}", width, stage.note)


def row(title: str, done: int, total: int, numbers: str, width: int, note: str = "") -> Text:
    """A title, a bar and numbers in columns; a note where there is room for it."""
    line = Text(set_cell_size(f"{title}  ", min(_TITLE, width)))
    room = width - _TITLE - max(cell_len(numbers), _NUMBERS) - 1
    more = f"  {note}" if note else ""
    if room - cell_len(more) >= 2 * _LEAST_BAR:
        room -= cell_len(more)
    else:
        more = ""
    if room >= _LEAST_BAR:
        line.append(bar(done, total, room) if total else "·" * room, style="dim" if not total else "")
        line.append(" ")
    line.append(numbers)
    line.append(more)
    line.truncate(width, overflow="ellipsis")
    return line


def speed_words(state: RunState, now: float, *, paused: bool = False) -> str:
    """How fast it goes, what it took so far."""
    parts = []
    if not (paused or state.stands):
        if state.read_rate or state.write_rate:
            parts.append(f"{state.read_rate:,.0f} tokens/s read, {state.write_rate:,.0f} written")
        if state.per_minute:
            parts.append(f"{rate(state.per_minute)} chunks/min")
    gone = duration(max(now - state.began, 0))
    parts.append(f"{about(state.tokens)} tokens in {gone}" if state.tokens else f"{gone} so far")
    return " · ".join(parts)


def rate(number: float) -> str:
    """A rate with no more digits than it deserves."""
    return f"{number:.1f}" if number < 10 else f"{number:,.0f}"


def hand_lines(state: RunState, most: int) -> list[Text]:
    """What the model has before it, one passage a line."""
    lines = []
    for hand in state.hands[:most]:
        again = " (once more)" if hand.again else ""
        lines.append(Text(f"Now: {hand.document}, {hand.place}{again}", no_wrap=True, overflow="ellipsis"))
    if lines and (rest := state.in_hand - len(lines)) > 0:
        lines[-1].append(f"  and {rest} more")
    return lines


# Before and after a run


def ready_text(
    ahead: Ahead,
    settings: Settings,
    *,
    explain: bool = False,
) -> Text:
    """What a run would do now, and what it would take; with `explain` also what its stages are for."""
    estimate = ahead.estimate
    lines = []
    if estimate.chunks:
        documents = count(len(ahead.documents), "document")
        wait = "waits" if estimate.chunks == 1 else "wait"
        chunks = count(estimate.chunks, "chunk")
        lines.append(Text(f"{chunks} of {documents} {wait} to be read.", style="bold"))
    else:
        lines.append(Text("Everything that was added is read.", style="bold"))
    if estimate.claim_chunks:
        lines.append(Text(f"Claims will be read in {count(estimate.claim_chunks, 'chunk')}."))
    if estimate.chunks or estimate.claim_chunks:
        lines.append(Text(estimate_words(estimate)))
    lines.append(Text(vector_words(ahead)))
    if ahead.left_out:
        lines.append(Text(f"{count(ahead.left_out, 'chunk')} failed and are left out; see Failed below."))
    if estimate.chunks or estimate.claim_chunks:
        lines.append(Text(f"How: {how_words(settings)}", style="dim"))
        if explain:
            lines += explanation(settings)
    return Text("\n").join(lines)


def explanation(settings: Settings) -> list[Text]:
    """What a run does, for whoever has never seen one."""
    parts = [
        "Vectors: every chunk gets one, so that questions find it by its meaning.",
        "Reading: the model reads every chunk, and notes which names are in it and how they are related.",
    ]
    if settings.summaries.at_index:
        parts.append("Summaries: what many chunks say of one thing is summed up.")
    if settings.claims.at_index:
        parts.append("Claims: the model notes who is said to have done what, and when.")
    parts += [
        "Everything is kept as soon as it is found. You can ask meanwhile, pause, stop, or close localrag: "
        "the next run goes on from there.",
    ]
    return [Text("\nWhat a run does", style="bold"), *(Text(part) for part in parts)]


def estimate_words(estimate: Estimate) -> str:
    """What reading takes: time first, since that is what a person asks for."""
    work = (
        f"{count(estimate.calls, 'call')} of the model, about {about(estimate.prompt_tokens)} tokens to read"
    )
    if estimate.written_tokens:
        work += f" and {about(estimate.written_tokens)} to write"
    if estimate.seconds is None:
        return f"How long it takes is known once this machine is measured or some chunks are read: {work}."
    basis = {"readings": "as it went so far", "machine": "by what was measured here"}.get(estimate.basis, "")
    return f"About {duration(estimate.seconds)} on this machine{', ' + basis if basis else ''}: {work}."


def vector_words(ahead: Ahead) -> str:
    """Which vectors will be made."""
    missing = ahead.missing
    if not ahead.embedder:
        return "No embedding model is installed, so no vectors are made: questions search words and names."
    kinds = ((missing.chunk, "chunk", "chunks"), (missing.entity, "entity", "entities"))
    parts = [count(number, one, many) for number, one, many in kinds if number]
    if missing.relation:
        parts.append(count(missing.relation, "relation"))
    if not parts:
        return "All vectors are there." if not ahead.estimate.chunks else "Vectors: for what is found."
    more = ", and of what is found" if ahead.estimate.chunks else ""
    return f"Vectors to make: of {', '.join(parts)}{more}."


def how_words(settings: Settings) -> str:
    """How reading is set up, in a line."""
    looks = {
        "off": "no second look",
        "once": "one second look where something is missing",
        "until-no": f"up to {settings.extraction.gleaning_passes} second looks",
    }
    parts = [
        f"profile {settings.extraction.profile}",
        looks.get(settings.extraction.gleaning, settings.extraction.gleaning),
        "with claims" if settings.claims.at_index else "no claims",
        "with summaries" if settings.summaries.at_index else "no summaries",
    ]
    return f"{', '.join(parts)}. Press e to change that."


def report_text(report: IndexReport, state: RunState | None) -> Text:
    """What a run did."""
    if report.cancelled:
        title = "Stopped. What was read is kept, and the next run goes on from there."
    elif report.reason:
        title = "The budget of the run is used up. What was read is kept."
    else:
        title = "Done."
    parts = [f"{count(report.read, 'chunk')} read in {duration(report.seconds)}"]
    if report.failed:
        parts.append(f"{report.failed:,} failed")
    if state is not None:
        entities, relations = state.counts.get("entity", 0), state.counts.get("relation", 0)
        if entities or relations:
            parts.append(f"{count(entities, 'name')} and {count(relations, 'relation')} found")
    if report.claims:
        parts.append(count(report.claims, "claim"))
    if report.summaries:
        parts.append(count(report.summaries, "summary", "summaries"))
    if report.tokens:
        parts.append(f"{about(report.tokens)} tokens")
    text = Text(title, style="bold")
    text.append(f"\nThis run: {', '.join(parts)}.", style="not bold")
    holds = f"{count(report.entities, 'entity', 'entities')} and {count(report.relations, 'relation')}"
    text.append(f"\nThe file holds {holds} now.", style="not bold")
    return text


def fault_text(fault: Fault, state: RunState | None) -> Text:
    """Why a run ended early, what is kept, and how to go on."""
    text = Text("The index run ended early.", style="bold")
    text.append(f"\n{fault.text}", style="not bold")
    reading = next((stage for stage in state.stages if stage.key == "reading"), None) if state else None
    done = reading.done if reading is not None else 0
    kept = f"Kept: {count(done, 'chunk')} read in this run. " if done else "What was read before is kept. "
    text.append(f"\n{kept}Press b to try again.", style="not bold")
    return text
