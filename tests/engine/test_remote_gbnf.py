"""The translation into GBNF: read by llama.cpp's own reader, and allowing the same texts as our grammars."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llama_cpp as lib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.engine.constraints import driver_for
from localrag.engine.gbnf import MOST_REPEATS, to_gbnf
from localrag.engine.lark_reading import read_lark
from localrag.engine.llama import Model
from localrag.engine.programs import Choice, CitedText, Field, FreeText, LeanRecords, Program, Record, Records
from localrag.engine.remote_check import TextCheck, fits
from localrag.engine.remote_rounds import plan_round
from localrag.engine.remote_writing import Written
from localrag.engine.steps import Step
from localrag.errors import ConstraintError
from localrag.extraction.delimiters import Delimiters
from localrag.extraction.program import Limits, Shape, records_program
from tests.engine.remote_servers import from_gbnf, throw
from tests.examples import examples

NAMES = ("Marta Lind", 'The "Orla" \\ river', "Halden", "灯塔", "C/O [Dept]", "O'Neill - Sons")


def records(language: str = "en", **shape: Any) -> Records:
    return records_program(NAMES, ("person", "Other"), Limits(6, 8, 60), Shape(language=language, **shape))


GRAPHRAG = records_program(NAMES, (), Limits(4, 9, 40), Shape(form="graphrag"))
TYPED = records("en", form="graphrag", relation_types=("part of (it)", "A/B [x]"))
STRANGE = records("zh", delimiters=Delimiters("||", "@@", "{END}"), relation_types=("位于",))


PROGRAMS: tuple[Program, ...] = (
    GRAPHRAG,
    TYPED,
    STRANGE,
    LeanRecords(NAMES, (), phrases=("part of (it)", "A/B [x]")),
    records("en"),
    records("zh"),
    Records(
        (
            Record("entity", (Field("n", "new", NAMES[:3], upper=True), Field("d", "text", max_chars=30)), 3),
            Record("relationship", (Field("s", "used", upper=True), Field("t", "used", upper=True),
                                    Field("w", "pattern", pattern="10|[1-9]")), 3),
        ),
        quoted_tags=True,
        taken=("Ida", "Jon"),
    ),
    LeanRecords(NAMES, ("person", "place")),
    CitedText(12, marks=("[General Knowledge]",)),
    CitedText(1, refusal="", max_sources=1),
    FreeText(),
    FreeText(max_chars=5000),
    FreeText(max_chars=500, one_line=True),
    Choice(("yes", "no", "not sure (at all)")),
)  # fmt: skip


def steps(program: Program, seed: int, most: int = 12) -> Iterator[Step]:
    """The steps of one random output."""
    driver = driver_for(program)
    dice = random.Random(seed)
    step: Step | None = driver.first()
    for _ in range(most):
        if step is None:
            return
        yield step
        text, whole = throw(from_gbnf(to_gbnf(step.lark)), dice, 400)
        if not whole:
            return
        assert fits(step, text), text
        step = driver.following(text)


@pytest.fixture(scope="module")
def vocabulary(random_gguf: Path) -> Iterator[lib.llama_vocab_p]:
    model = Model(random_gguf)
    yield lib.llama_model_get_vocab(model.handle)
    model.close()


def native_takes(vocabulary: lib.llama_vocab_p, gbnf: str) -> bool:
    """Whether llama.cpp can read a grammar."""
    sampler = lib.llama_sampler_init_grammar(vocabulary, gbnf.encode(), b"root")
    if not sampler:
        return False
    lib.llama_sampler_free(sampler)
    return True


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.kind)
def test_what_is_written_under_the_translation_keeps_our_grammar(program: Program) -> None:
    for seed in range(3):
        assert list(steps(program, seed))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.kind)
def test_llama_cpp_reads_every_translation(program: Program, vocabulary: lib.llama_vocab_p) -> None:
    for step in steps(program, 5):
        gbnf = to_gbnf(step.lark)
        assert native_takes(vocabulary, gbnf), gbnf
        assert not re.search(r"^\S*_", gbnf, re.MULTILINE)
        assert all(int(n) <= MOST_REPEATS for pair in re.findall(r"\{(\d+),(\d+)\}", gbnf) for n in pair)


@pytest.mark.parametrize("program", [p for p in PROGRAMS if isinstance(p, Records | LeanRecords)])
def test_llama_cpp_reads_every_round(program: Records | LeanRecords, vocabulary: lib.llama_vocab_p) -> None:
    written = Written(program)
    dice = random.Random(3)
    for _ in range(6):
        while written.add_forced():
            pass
        if written.step is None:
            break
        plan = plan_round(written)
        assert native_takes(vocabulary, plan.gbnf), plan.gbnf
        text, _ = throw(from_gbnf(plan.gbnf), dice, 1500)
        before = written.text
        rest = written.take(text)
        assert written.text != before or rest in plan.exits


def test_a_bad_grammar_is_not_read(vocabulary: lib.llama_vocab_p) -> None:
    assert not native_takes(vocabulary, "root ::= under_score\nunder_score ::= [a")


def test_a_large_repetition_is_put_together_from_counted_ones() -> None:
    assert to_gbnf("start: /a{1,4500}/") == (
        'root ::= (x0 x1 x2)\nx0 ::= "a"{1,2000}\nx1 ::= "a"{0,2000}\nx2 ::= "a"{0,500}\n'
    )
    assert "x0 x0*" not in to_gbnf("start: /(ab){3,}/")
    assert fits(Step("t", "start: /a{3,}/"), "aaaa")


@pytest.mark.parametrize(
    ("lark", "said"),
    [
        ("start: a\n%ignore / /", "Line 2"),
        ("a: /x/", "no rule `start`"),
        ("start: b", "does not define"),
        ("start: a\na: a /x/ | /y/", "begins with itself"),
        ("start: b\nb: c? d\nc: /x/\nd: b", "begins with itself"),
        ("start: /(?=x)y/", "cannot be translated"),
        ("start: /a+?/", "cannot be translated"),
        ("start: /^a$/", "cannot be translated"),
        ("start: /[z-a]/", "cannot be translated"),
        ("start: /\\bx/", "cannot be translated"),
        ("start: (/a/", "Line 1"),
        ("start: /a/\nstart: /b/", "second time"),
        ('start: "a" & "b"', "Line 1"),
    ],
)
def test_what_cannot_be_said_is_refused(lark: str, said: str) -> None:
    with pytest.raises(ConstraintError, match=re.escape(said)):
        to_gbnf(lark)


def test_rules_over_several_lines_and_comments() -> None:
    rules = read_lark('// first\nstart: A\n  | "b"\n\nA: /c/')
    assert set(rules) == {"start", "A"}
    assert to_gbnf('start: "a"\n    | "b"') == 'root ::= "a" | "b"\n'


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
LINE_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def unescaped(text: str) -> str:
    """What a literal of GBNF means."""

    def meant(found: re.Match[str]) -> str:
        return chr(int(found[1][1:], 16)) if found[1][0] == "x" else LINE_ESCAPES.get(found[1], found[1])

    return re.sub(r"\\(x..|.)", meant, text, flags=re.DOTALL)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=5, unique=True))
def test_any_literal_survives(options: list[str]) -> None:
    step = driver_for(Choice(tuple(options))).first()
    gbnf = to_gbnf(step.lark)
    assert [unescaped(found) for found in re.findall(r'"((?:[^"\\]|\\.)*)"', gbnf)] == options


def test_the_check_follows_text_in_pieces() -> None:
    step = driver_for(records()).first()
    check = TextCheck(step)
    assert check.take("(entity<|>灯") == len("(entity<|>灯")
    assert not check.complete
    assert check.take("塔<|>person<|>a light)##\n(e") == len("塔<|>person<|>a light)##\n")
    assert check.finished
    assert TextCheck(step).take("(entity<|>Nobody") == len("(entity<|>")
    assert not fits(step, "(entity<|>灯塔<|>person<|>a light")
