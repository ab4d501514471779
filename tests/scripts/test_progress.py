"""Progress is read from what pip, CMake, Ninja and Make print, and shown in the way the output allows."""

from __future__ import annotations

import io

import pytest

from scripts.setuplib.progress import BuildProgress, InstallProgress, Talk

NINJA_LOG = """\
Collecting llama-cpp-python==0.3.36
  Installing build dependencies: started
  Installing build dependencies: finished with status 'done'
  Preparing metadata (pyproject.toml): started
  *** Configuring CMake...
  -- The CXX compiler identification is GNU 12.2.0
  *** Building project with Ninja...
  [1/140] /usr/bin/cc -DGGML_BUILD -I/b/ggml -O3 -o ggml.dir/ggml.c.o -c /b/vendor/ggml/src/ggml.c
  [57/140] /usr/bin/c++ -O3 -MF x.d -o y.o -c "/a folder/src/unicode.cpp"
  /b/src/unicode.cpp:12:3: warning: unused variable 'x'
  [139/140] : && /usr/bin/c++ -fPIC -shared -o bin/libllama.so a.o b.o && :
  [140/140] Building CXX object vendor/src/CMakeFiles/llama.dir/llama-vocab.cpp.o
  *** Installing project into wheel...
"""


def test_a_build_with_ninja_is_followed_line_by_line() -> None:
    progress = BuildProgress()
    seen = []
    for line in NINJA_LOG.splitlines(keepends=True):
        progress.feed(line)
        seen.append(progress.text())
    assert seen == [
        "fetching the source",
        "fetching the build tools",
        "fetching the build tools",
        "reading the source package",
        "looking at the compiler",
        "looking at the compiler",
        "compiling",
        "1 of 140: ggml.c",
        "57 of 140: unicode.cpp",
        "57 of 140: unicode.cpp",
        "139 of 140: linking",
        "140 of 140: llama-vocab.cpp",
        "putting the wheel together",
    ]


def test_a_build_with_make_has_percentages() -> None:
    progress = BuildProgress()
    progress.feed("[ 12%] Building C object ggml/src/CMakeFiles/ggml-base.dir/ggml.c.o\n")
    assert progress.text() == "12%: ggml.c"
    progress.feed("[ 99%] Linking CXX shared library libllama.so\n")
    assert progress.text() == "99%: linking"


def test_an_object_of_visual_studio_is_named_too() -> None:
    progress = BuildProgress()
    progress.feed(r"[3/9] Building CXX object vendor\src\llama.dir\llama.cpp.obj")
    assert progress.text() == "3 of 9: llama.cpp"


def test_an_installation_counts_packages() -> None:
    progress = InstallProgress()
    for line in (
        "Collecting click>=8.3.1",
        "  Downloading click.whl",
        "Collecting rich[jupyter]>=14 (from x)",
    ):
        progress.feed(line)
    assert progress.text() == "2 packages, now rich"
    progress.feed("Installing collected packages: click, rich")
    assert progress.text() == "writing 2 packages"


def test_without_a_terminal_a_line_is_printed_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("scripts.setuplib.progress.time.monotonic", lambda: now)
    stream = io.StringIO()
    talk = Talk(stream, moving=False, interval=15.0)
    talk.begin("Building")
    for second in range(1, 41):
        now = 100.0 + second
        talk.tick(f"step {second}")
    talk.finish("built")
    assert stream.getvalue().splitlines() == [
        "Building",
        "  0:15  step 15",
        "  0:30  step 30",
        "  0:40  built",
    ]


def test_on_a_terminal_one_line_moves_and_is_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    stream = io.StringIO()
    talk = Talk(stream, moving=True)
    talk.begin("Building")
    talk.tick("a text that is much longer than the line")
    talk.say("Done")
    moving = stream.getvalue().split("\n")[1]
    assert moving.startswith("\r\033[K  0:00  a text")
    assert len(moving.split("\033[K")[1].rstrip("\r")) == 19
    assert stream.getvalue().endswith("\r\033[KDone\n")
