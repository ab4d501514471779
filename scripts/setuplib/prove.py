"""Tries a build on a real prompt in a process of its own, remembers the result, and explains what went wrong.

A build for the wrong processor, or by a compiler with a fault, dies with a signal that Python cannot catch,
or writes nonsense. Only decoding a prompt of several tokens with a known continuation tells.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .build import Builds, Recipe
from .progress import Talk
from .run import run_quiet
from .state import read_json, write_json

MODULE = "localrag.engine.probe"
TIMEOUT = 600.0  # seconds; loading from a slow disk takes a minute, decoding a few tokens takes seconds

_WINDOWS_CODES = {
    0xC0000005: "an access violation",
    0xC000001D: "an illegal instruction",
    0xC0000135: "a missing library",
    0xC0000409: "a stack overrun",
}


@dataclass(frozen=True)
class Verdict:
    """What came of one try."""

    ok: bool
    """Whether the model wrote the text that it should."""

    death: str = ""
    """What ended the process, such as SIGSEGV; empty if it ended by itself."""

    detail: str = ""
    """What the process said about its failure, or the wrong text."""

    speed: float = 0.0
    """Tokens per second while writing."""

    @property
    def out_of_memory(self) -> bool:
        """Whether the system killed the process, which it does when memory runs out."""
        return self.death == "SIGKILL"

    def sentence(self) -> str:
        """What happened, as the rest of a sentence that begins with the build."""
        if self.death:
            return f"died ({self.death}) while it read a short prompt"
        return f"failed: {self.detail}" if self.detail else "failed without a word"


def judge(returncode: int | None, output: str, complaints: str) -> Verdict:
    """Read the end of a try: its exit code (None: it took too long), its JSON line, its last words."""
    if returncode is None:
        return Verdict(False, detail=f"no answer within {TIMEOUT:.0f} seconds")
    said = _last_json(output)
    last_words = (complaints.strip().splitlines() or [""])[-1]
    if returncode < 0:
        return Verdict(False, death=_signal_name(-returncode), detail=last_words)
    if returncode in _WINDOWS_CODES:
        return Verdict(False, death=_WINDOWS_CODES[returncode], detail=last_words)
    if returncode == 0 and said.get("ok") is True:
        speed = said.get("tokens_per_second")
        return Verdict(True, speed=float(speed) if isinstance(speed, int | float) else 0.0)
    if death := said.get("signal"):
        return Verdict(False, death=str(death), detail=str(said.get("error") or last_words))
    if "text" in said:
        return Verdict(False, detail=f"the model wrote {str(said['text'])[:60]!r} instead of the known text")
    if error := said.get("error"):
        return Verdict(False, detail=str(error))
    return Verdict(False, detail=last_words or f"exit code {returncode}")


def _last_json(output: str) -> dict[str, object]:
    for line in reversed(output.splitlines()):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            return value
    return {}


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def try_build(python: Path, model: Path, environment: Mapping[str, str], folder: Path, talk: Talk) -> Verdict:
    """Let the installed build decode a prompt with a model, in a child process."""
    command = [str(python), "-m", MODULE, str(model)]
    text = f"decoding a prompt with {model.name}"
    ended = run_quiet(command, environment=environment, folder=folder, timeout=TIMEOUT, talk=talk, text=text)
    return judge(*ended)


def remembered(builds: Builds, recipe: Recipe, installed: str) -> Verdict | None:
    """What came of trying the wheel of a recipe, or None if that wheel was never tried.

    `installed` is the sha256 of the wheel in the environment, for when the cache holds the wheel no longer.
    """
    proof = read_json(builds.folder(recipe) / "proof.json")
    made = builds.record(recipe)
    sha256 = made["sha256"] if made else installed
    if not sha256 or proof.get("sha256") != sha256:
        return None
    return Verdict(bool(proof.get("ok")), str(proof.get("death", "")), str(proof.get("detail", "")))


def remember(builds: Builds, recipe: Recipe, installed: str, verdict: Verdict, model: Path) -> None:
    """Keep the result of trying the installed wheel beside the wheel."""
    proof = {
        "ok": verdict.ok,
        "sha256": installed,
        "model": model.name,
        "death": verdict.death,
        "detail": verdict.detail,
        "tokens_per_second": verdict.speed,
    }
    write_json(builds.folder(recipe) / "proof.json", proof)


def explain_memory(model: Path) -> tuple[str, str]:
    """Message and hint for a try that the system killed."""
    return (
        f"The system killed the test of the build (SIGKILL) while it read {model.name}: memory ran out.",
        "Close other programs and run scripts/setup again; nothing has to be built anew. "
        "In a container, give it 4 GB of memory.",
    )


def explain_second_failure(
    builds: Builds, first: tuple[Recipe, Verdict], second: tuple[Recipe, Verdict], model: Path
) -> tuple[str, str]:
    """Message and hint when the careful build fails like the native one."""
    recipe, verdict = second
    message = (
        f"llama.cpp was built twice for this machine, and neither build works. The first, with all the "
        f"instructions of the processor, {first[1].sentence()}; the second, with the common ones alone, "
        f"{verdict.sentence()}. Both were tried with {model.name}, whose answer to that prompt is known. "
        f"The cause lies in the compiler or the machine, not in your settings or documents."
    )
    made = builds.record(recipe) or {}
    hint = (
        f"Try another compiler (this one: {made.get('compiler', 'unknown')}), for instance: "
        f"CC=clang CXX=clang++ scripts/setup --rebuild. If that fails too, whoever looks into it needs the "
        f"logs of both builds: {builds.log(first[0])} and {builds.log(recipe)}."
    )
    return message, hint
