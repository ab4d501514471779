"""Puts the steps of the set-up in order: look, announce, check the disk, do what is missing, prove it."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from . import prove
from .build import Builds, Recipe, make_recipe
from .compiler import accelerator_environment, find_compiler
from .errors import CommandFailed, SetupError, Stopped
from .machine import Machine, cache_dir, duration_text, this_machine
from .models import SETS, Models
from .plan import Plan, announce, check_disk, parse_options
from .progress import Talk
from .run import child_environment, run_shown, stop_on_signals
from .state import Lock
from .venv import Interpreter, Venv, project_pin

ROOT = Path(__file__).resolve().parents[2]
_SHOWN_LINES = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the set-up; gives the exit code: 0 done, 1 failed, 2 usage, 130 stopped."""
    options = parse_options(arguments)
    moving = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    talk = Talk(sys.stderr, moving=moving)
    stop_on_signals()
    try:
        Setup(ROOT, options, os.environ, talk).run()
    except SetupError as error:
        for line in failure_lines(error):
            talk.say(line)
        return 1
    except OSError as error:  # a full disk, a folder that may not be written
        where = f" ({error.filename})" if error.filename else ""
        talk.say(f"Error: {error.strerror or error}{where}.")
        return 1
    except Stopped as stopped:
        talk.say("Stopped. What is done is kept; start it again to go on.")
        return 128 + stopped.signal_number
    return 0


def failure_lines(error: SetupError) -> list[str]:
    """What is printed about a failure: its log's last lines first, the sentence last, where it is seen."""
    lines: list[str] = []
    if isinstance(error, CommandFailed):
        lines += [f"  | {line[:200]}" for line in error.tail[-_SHOWN_LINES:]]
        lines.append(f"The whole output is in {error.log}")
    lines.append(f"Error: {error.message}")
    if error.hint:
        lines.append(error.hint)
    return lines


class Setup:
    """One run of the set-up."""

    def __init__(
        self,
        root: Path,
        options: argparse.Namespace,
        environment: Mapping[str, str],
        talk: Talk,
        machine: Machine | None = None,
    ) -> None:
        self.root = root
        self.cache = cache_dir(environment)
        self.machine = machine or this_machine()
        self.talk = talk
        self.options = options
        self.environment = environment
        self.wanted = SETS[options.models]
        self.builds = Builds(self.cache)
        self.venv = Venv(root, self.cache / "logs", environment)
        self.models = Models(root, self.cache)
        self.version = project_pin(root)
        self.children = child_environment(environment)
        if environment.get("LOCALRAG_CACHE"):
            self.children["LOCALRAG_CACHE"] = str(self.cache)

    def run(self) -> None:
        """Do all that is missing. Raises `SetupError` and `Stopped`."""
        with Lock(self.venv.lock, "at work in this folder", self.talk):
            accelerator = self.options.accelerator or self.venv.stamp.get("accelerator", "cpu")
            interpreter = self.venv.look()
            tag = interpreter.tag if interpreter else str(sys.implementation.cache_tag)
            if self.options.rebuild:
                for careful in (False, True):
                    self.builds.drop(self.recipe(tag, accelerator, careful=careful))
            recipe = self.choose(tag, accelerator)
            plan = self.look(interpreter, recipe)
            if plan.nothing:
                self.talk.say("localrag is set up: nothing to do.")
                return
            self.talk.say(announce(plan, self.machine, self.root, self.cache))
            check_disk(plan, self.root, self.cache)
            if plan.build:  # better now than after the packages have been fetched
                find_compiler(self.environment, self.machine)
                accelerator_environment(accelerator, self.environment, self.machine)
            self.work(plan, interpreter, recipe)

    def recipe(self, tag: str, accelerator: str, *, careful: bool = False) -> Recipe:
        """The recipe for this machine and project."""
        return make_recipe(self.version, self.machine, tag, accelerator, careful=careful)

    def choose(self, tag: str, accelerator: str) -> Recipe:
        """The native recipe, or the careful one where the native build is known to fail here."""
        native = self.recipe(tag, accelerator)
        known = prove.remembered(self.builds, native, self.installed)
        return self.recipe(tag, accelerator, careful=True) if known and not known.ok else native

    @property
    def installed(self) -> str:
        """The sha256 of the wheel that is installed, or empty."""
        return str(self.venv.stamp.get("wheel", ""))

    def look(self, interpreter: Interpreter | None, recipe: Recipe) -> Plan:
        """What is missing."""
        missing = self.models.missing(self.wanted)
        will_have_probe = self.models.probe() is not None or bool(missing)
        has_wheel = interpreter is not None and self.venv.holds_wheel(interpreter, recipe.key)
        built = self.builds.record(recipe) is not None
        development = self.options.dev or bool(self.venv.stamp.get("development"))
        known = prove.remembered(self.builds, recipe, self.installed)
        return Plan(
            environment=interpreter is None or not interpreter.has_pip,
            build=not built and not (has_wheel and not self.options.rebuild),
            wheel=not has_wheel or self.options.rebuild,
            project=interpreter is None
            or not self.venv.holds_project(interpreter, development=self.options.dev),
            models=missing,
            absent=tuple(model for model in missing if self.models.absent(model.name)),
            proof=will_have_probe and not (known and known.ok),
            development=development,
            accelerator=recipe.accelerator,
        )

    def work(self, plan: Plan, interpreter: Interpreter | None, recipe: Recipe) -> None:
        """Carry a plan out."""
        started = time.monotonic()
        if plan.environment or interpreter is None:
            self.talk.begin("Python environment")
            interpreter = self.venv.create(self.talk)
            self.talk.finish(f"in {self.venv.folder}")
        if plan.wheel:
            self.put_build(interpreter, recipe)
        if plan.project:
            self.talk.begin("Python packages")
            self.venv.install_project(interpreter, development=plan.development, talk=self.talk)
            self.talk.finish("installed")
        if plan.models:
            self.pull(tuple(model.name for model in plan.models))
        model = self.models.probe()
        if plan.proof and model is not None:
            self.prove_build(interpreter, recipe, model)
        elif plan.wheel and model is None:
            self.talk.say("The build of llama.cpp is not tried yet: there is no model to try it with.")
        self.talk.say(f"localrag is set up, after {duration_text(time.monotonic() - started)}.")

    def put_build(self, interpreter: Interpreter, recipe: Recipe) -> None:
        """Build llama.cpp if the cache has no such wheel, and install it."""
        if self.builds.record(recipe) is None:
            self.talk.begin("llama.cpp, from its source")
            self.builds.make(
                recipe,
                python=self.venv.python,
                machine=self.machine,
                environment=self.environment,
                talk=self.talk,
            )
        self.talk.begin("llama.cpp, into the environment")
        wheel = self.builds.wheel(recipe)
        self.venv.install_wheel(interpreter, wheel, recipe.key, recipe.accelerator, self.talk)
        self.talk.finish("installed")

    def pull(self, names: tuple[str, ...]) -> None:
        """Fetch and verify models through localrag itself."""
        self.talk.begin("Models")
        command = [str(self.venv.program), "models", "pull", *names]
        code = run_shown(command, environment=self.children, folder=self.root)
        if code != 0:
            raise SetupError(
                f"The models could not be fetched (exit code {code}).",
                "What was fetched and verified is kept; start again to go on. Without them: --models none",
            )
        for name in names:
            if self.models.absent(name):
                raise SetupError(f"The model {name} was fetched, but its file is not where it should be.")
        self.models.note(names)
        self.talk.finish("all there and verified")

    def prove_build(self, interpreter: Interpreter, recipe: Recipe, model: Path) -> None:
        """Try the build; build once more, carefully, if it fails; raise `SetupError` if that fails too."""
        verdict = self.attempt(recipe, model)
        if verdict.ok:
            return
        native = self.recipe(interpreter.tag, recipe.accelerator)
        first = verdict
        if recipe.careful:
            first = prove.remembered(self.builds, native, self.installed) or verdict
        else:
            self.talk.say(
                "The build does not work on this machine. It is built once more, with common instructions."
            )
            recipe = self.recipe(interpreter.tag, recipe.accelerator, careful=True)
            self.put_build(interpreter, recipe)
            verdict = self.attempt(recipe, model)
            if verdict.ok:
                return
        raise SetupError(
            *prove.explain_second_failure(self.builds, (native, first), (recipe, verdict), model)
        )

    def attempt(self, recipe: Recipe, model: Path) -> prove.Verdict:
        """Try the installed build once and remember the result; raises `SetupError` when memory ran out."""
        self.talk.begin("A test of the build")
        verdict = prove.try_build(self.venv.python, model, self.children, self.root, self.talk)
        if verdict.out_of_memory:
            raise SetupError(*prove.explain_memory(model))
        prove.remember(self.builds, recipe, self.installed, verdict, model)
        if verdict.ok:
            self.talk.finish(f"it works ({verdict.speed:.3g} tokens per second)")
        else:
            self.talk.finish(verdict.sentence())
        return verdict
