"""How a try of a build is judged and remembered."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import pytest

from scripts.setuplib import prove
from scripts.setuplib.build import Builds, make_recipe
from scripts.setuplib.machine import Machine
from scripts.setuplib.progress import Talk
from scripts.setuplib.state import write_json

GOOD = json.dumps({"ok": True, "text": "known", "tokens_per_second": 23.5})


def test_the_right_text_is_a_proof() -> None:
    verdict = prove.judge(0, f"chatter\n{GOOD}\n", "")
    assert verdict.ok
    assert verdict.speed == 23.5


@pytest.mark.parametrize(
    ("returncode", "output", "complaints", "words"),
    [
        (-int(signal.SIGSEGV), "", "", "died (SIGSEGV)"),
        (-int(signal.SIGILL), GOOD, "", "died (SIGILL)"),
        (0xC000001D, "", "", "died (an illegal instruction)"),
        (1, json.dumps({"ok": False, "text": "xyzzy"}), "", "'xyzzy'"),
        (1, json.dumps({"ok": False, "signal": "SIGBUS"}), "", "died (SIGBUS)"),
        (1, json.dumps({"ok": False, "error": "no file"}), "", "failed: no file"),
        (1, "", "Traceback\nImportError: libgomp.so.1", "libgomp.so.1"),
        (0, "no json at all", "", "failed: exit code 0"),
        (0, json.dumps({"text": "no verdict"}), "", "'no verdict'"),
        (None, "", "", "no answer within"),
    ],
)
def test_all_else_is_a_failure_in_words(
    returncode: int | None, output: str, complaints: str, words: str
) -> None:
    verdict = prove.judge(returncode, output, complaints)
    assert not verdict.ok
    assert words in verdict.sentence()


def test_a_process_that_the_system_killed_ran_out_of_memory() -> None:
    assert prove.judge(-9, "", "").out_of_memory
    assert not prove.judge(-11, "", "").out_of_memory


def test_a_try_runs_the_probe_in_a_child(tmp_path: Path, talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dying.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    (tmp_path / "fine.py").write_text(f"import sys; assert sys.argv[1] == 'model.gguf'; print('''{GOOD}''')")
    (tmp_path / "slow.py").write_text("import time; time.sleep(60)")
    verdicts = {}
    for name in ("dying", "fine", "slow"):
        monkeypatch.setattr(prove, "MODULE", name)
        monkeypatch.setattr(prove, "TIMEOUT", 0.6 if name == "slow" else 60.0)
        verdicts[name] = prove.try_build(
            Path(sys.executable), Path("model.gguf"), {"PYTHONPATH": str(tmp_path)}, tmp_path, talk
        )
    assert verdicts["dying"].death == "SIGSEGV"
    assert verdicts["fine"].ok
    assert "no answer" in verdicts["slow"].detail


def test_a_proof_belongs_to_one_wheel(tmp_path: Path, machine: Machine) -> None:
    builds, recipe = Builds(tmp_path), make_recipe("0.3.36", machine, "cpython-311")
    folder = builds.folder(recipe)
    assert prove.remembered(builds, recipe, "") is None

    def wheel(sha256: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "a.whl").write_bytes(b"wheel")
        write_json(folder / "build.json", {"wheel": "a.whl", "size": 5, "sha256": sha256})

    wheel("one")
    failed = prove.Verdict(False, death="SIGSEGV")
    prove.remember(builds, recipe, "one", failed, Path("m.gguf"))
    known = prove.remembered(builds, recipe, "one")
    assert known is not None
    assert known == failed
    wheel("two")
    assert prove.remembered(builds, recipe, "one") is None


def test_a_proof_outlives_the_wheel_in_the_cache(tmp_path: Path, machine: Machine) -> None:
    builds, recipe = Builds(tmp_path), make_recipe("0.3.36", machine, "cpython-311")
    prove.remember(builds, recipe, "installed", prove.Verdict(True), Path("m.gguf"))
    known = prove.remembered(builds, recipe, "installed")
    assert known is not None
    assert known.ok
    assert prove.remembered(builds, recipe, "another") is None


def test_the_second_failure_is_one_paragraph(tmp_path: Path, machine: Machine) -> None:
    builds = Builds(tmp_path)
    native = make_recipe("0.3.36", machine, "cpython-311")
    careful = make_recipe("0.3.36", machine, "cpython-311", careful=True)
    message, hint = prove.explain_second_failure(
        builds,
        (native, prove.Verdict(False, death="SIGSEGV")),
        (careful, prove.Verdict(False, death="SIGILL")),
        Path("small.gguf"),
    )
    assert "\n" not in message + hint
    for word in ("SIGSEGV", "SIGILL", "small.gguf", "twice"):
        assert word in message
    assert "--rebuild" in hint
    assert str(builds.log(careful)) in hint
