"""The shell side: finding a Python, help texts, and that every script is plain sh."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scripts.conftest import Program

REPOSITORY = Path(__file__).resolve().parents[2]
SCRIPTS = REPOSITORY / "scripts"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="not here: sh is not on Windows")

GOOD = f'exec "{sys.executable}" "$@"'
OLD = 'echo "Python 3.9.6"; echo old'
BARE = 'echo "Python 3.12.1"; echo bare'
STAND_IN = 'echo "command not found" >&2; exit 127'


def _find(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", f'. "{SCRIPTS}/_python.sh"; find_python'],
        env={"PATH": str(folder), **environment},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )


def test_python3_is_taken_if_it_will_do(tmp_path: Path, program: Program) -> None:
    program(tmp_path / "python3", GOOD)
    done = _find(tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "python3\n", "")


def test_one_that_is_too_old_is_passed_over(tmp_path: Path, program: Program) -> None:
    program(tmp_path / "python3", OLD)
    program(tmp_path / "python3.13", STAND_IN)
    program(tmp_path / "python3.12", GOOD)
    assert _find(tmp_path).stdout == "python3.12\n"


@pytest.mark.parametrize(
    ("pythons", "message", "hint"),
    [
        ({}, "no Python here", "apt-get install python3"),
        ({"python3": OLD}, "3.11 or newer; here is only Python 3.9.6 (python3)", "LOCALRAG_PYTHON="),
        ({"python3": BARE, "python": OLD}, "Python 3.12.1 (python3) has no working venv", "python3-venv"),
        ({"python3": STAND_IN}, "no Python here", "brew install python"),
    ],
)
def test_what_is_missing_is_told(
    tmp_path: Path, program: Program, pythons: dict[str, str], message: str, hint: str
) -> None:
    for name, body in pythons.items():
        program(tmp_path / name, body)
    done = _find(tmp_path)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert message in done.stderr
    assert hint in done.stderr


def test_a_named_python_is_the_only_one_tried(tmp_path: Path, program: Program) -> None:
    program(tmp_path / "python3", GOOD)
    mine = program(tmp_path / "a folder" / "python", GOOD)
    assert _find(tmp_path, LOCALRAG_PYTHON=str(mine)).stdout == f"{mine}\n"
    done = _find(tmp_path, LOCALRAG_PYTHON=str(tmp_path / "none"))
    assert done.returncode == 1
    assert "which does not run" in done.stderr


def test_the_start_file_runs_by_itself_and_refuses_an_old_python() -> None:
    text = (SCRIPTS / "_setup.py").read_text(encoding="utf-8")
    compile(text, "_setup.py", "exec")
    assert text.index("version_info") < text.index("from setuplib")
    done = subprocess.run(
        [sys.executable, "-I", str(SCRIPTS / "_setup.py"), "--help"],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.startswith("usage: scripts/setup")


@pytest.mark.parametrize(
    "name", ["scripts/setup", "scripts/demo", "scripts/test", "scripts/check", ".ci/run"]
)
def test_every_script_has_help_and_changes_nothing_for_it(name: str) -> None:
    script = REPOSITORY / name
    assert os.access(script, os.X_OK)
    done = subprocess.run(
        [str(script), "--help"],
        env=os.environ | {"LOCALRAG_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"usage: {name}")
    assert done.stderr == ""


@pytest.mark.parametrize("name", ["setup", "demo", "test", "check", "_python.sh", "_checks.sh"])
def test_scripts_are_plain_sh(name: str) -> None:
    shell = shutil.which("dash") or shutil.which("sh")
    assert shell is not None
    subprocess.run([shell, "-n", str(SCRIPTS / name)], check=True, timeout=20)
    text = (SCRIPTS / name).read_text(encoding="utf-8")
    for bashism in ("[[", "==", "local ", "function ", "<<<", "${BASH", "&>"):
        assert not any(bashism in line for line in text.splitlines() if "printf '==" not in line), bashism


def test_unknown_options_are_usage_errors() -> None:
    for name in ("check", "demo"):
        done = subprocess.run(
            [str(SCRIPTS / name), "--bogus"], capture_output=True, text=True, timeout=20, check=False
        )
        assert done.returncode == 2
        assert "--help" in done.stderr


def test_checks_go_on_and_keep_the_first_failure() -> None:
    script = f"""
    . "{SCRIPTS}/_checks.sh"
    check one true; check two sh -c 'exit 3'; check three sh -c 'exit 4'; check four true
    echo "${{summary%; }}"; exit "$first_failure"
    """
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 3
    assert done.stdout.splitlines()[-1] == "one passed; two FAILED; three FAILED; four passed"


@pytest.fixture
def checkout(tmp_path: Path, program: Program) -> Path:
    """A copy of the scripts in which all programs are stand-ins that print their arguments."""
    root = tmp_path / "a checkout"
    shutil.copytree(SCRIPTS, root / "scripts", ignore=shutil.ignore_patterns("setuplib", "__pycache__"))
    program(root / "scripts" / "setup", 'echo "setup $*"')
    for name in ("localrag", "ruff", "mypy", "lint-imports", "python"):
        program(root / ".venv" / "bin" / name, f'echo "{name} $*"')
    program(root / ".venv" / "bin" / "localrag", '[ "$1" != init ] || : > "$2"; echo "kb=$LOCALRAG_KB $1"')
    return root


def _run(script: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    settings = {name: value for name, value in os.environ.items() if name not in {"CI", "LOCALRAG_NO_SKIP"}}
    return subprocess.run(
        [str(script), *arguments],
        env=settings | environment,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )


def test_the_demo_goes_from_setup_to_answers(checkout: Path) -> None:
    first = _run(checkout / "scripts" / "demo", "--vulkan")
    assert first.returncode == 0, first.stderr
    said = [line for line in first.stdout.splitlines() if line.startswith(("setup", "kb="))]
    kb = "kb=demo/demo.localrag"
    assert said == ["setup --vulkan", *(f"{kb} {word}" for word in ("init", "add", "index", "ask", "ask"))]
    assert "$ localrag add localrag/sample/texts" in first.stdout
    assert f"{checkout.resolve()}/demo/demo.localrag" in first.stdout
    assert (REPOSITORY / "localrag" / "sample" / "texts").is_dir()
    assert "--kb my.localrag add FOLDER" in first.stdout

    again = _run(checkout / "scripts" / "demo")
    assert f"{kb} init" not in again.stdout
    assert f"{kb} ask" in again.stdout
    assert f"{kb} init" in _run(checkout / "scripts" / "demo", "--fresh").stdout


def test_the_demo_ends_where_something_fails(checkout: Path, program: Program) -> None:
    program(checkout / ".venv" / "bin" / "localrag", '[ "$1" != index ] || exit 130; echo "$1"')
    done = _run(checkout / "scripts" / "demo")
    assert done.returncode == 130
    assert "ask" not in done.stdout.splitlines()
    program(checkout / "scripts" / "setup", "exit 1")
    assert _run(checkout / "scripts" / "demo").returncode == 1


def test_the_tests_are_run_after_the_checks_and_close_the_output(checkout: Path) -> None:
    done = _run(checkout / "scripts" / "test", "tests/store", "-k", "two words")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "setup --dev --models test"
    assert "mypy --strict localrag tests" in lines
    assert "ruff passed; format passed; mypy passed; imports passed" in lines
    selection = "-m not slow and not terminal tests/store -k two words"
    assert lines[-1] == f"python -m pytest -p tests.plugins.no_skip {selection}"


@pytest.mark.parametrize(("words", "selection"), [((), "(not slow and not terminal) and "), (("--all",), "")])
def test_every_test_runs_either_alone_or_beside_others(
    checkout: Path, words: tuple[str, ...], selection: str
) -> None:
    lines = _run(checkout / "scripts" / "test", *words).stdout.splitlines()
    begin = "python -m pytest -p tests.plugins.no_skip -m"
    alone, together = (line for line in lines if line.startswith(begin))
    assert alone == f"{begin} {selection}alone"
    assert together.startswith(f"{begin} {selection}not alone --numprocesses ")
    assert "--dist loadfile" in together
    assert lines[-1] == together


def test_skips_are_forbidden_in_ci_only(checkout: Path, program: Program) -> None:
    program(checkout / ".venv" / "bin" / "python", 'echo "no skip: ${LOCALRAG_NO_SKIP:-}"')
    assert _run(checkout / "scripts" / "test").stdout.splitlines()[-1] == "no skip: "
    assert _run(checkout / "scripts" / "test", CI="true").stdout.splitlines()[-1] == "no skip: 1"


def test_the_first_failure_decides_the_exit_code(checkout: Path, program: Program) -> None:
    program(checkout / ".venv" / "bin" / "mypy", "exit 7")
    program(checkout / ".venv" / "bin" / "python", "exit 1")
    done = _run(checkout / "scripts" / "test")
    assert done.returncode == 7
    assert done.stderr.splitlines()[-1].endswith(
        "mypy FAILED; imports passed; pytest, one at a time FAILED; pytest, several at a time FAILED"
    )
    checked = _run(checkout / "scripts" / "check")
    assert checked.returncode == 7
    assert checked.stdout.splitlines()[0] == "setup --dev --models none"
    program(checkout / "scripts" / "setup", "exit 3")
    assert _run(checkout / "scripts" / "test").returncode == 3
