"""Kept prefixes: used only if everything agrees, bounded in size, never in the way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.engine.prefixes import SHORTEST, PrefixStore, PrefixTable, file_sample
from tests.examples import examples

TOKENS = tuple(range(100))
STATE = os.urandom(5000)


class Memory:
    """A context that keeps states in a dictionary."""

    def __init__(self, *, accepts: bool = True) -> None:
        self.states: dict[int, bytes] = {}
        self.accepts = accepts

    def state(self, sequence: int) -> bytes:
        return self.states.get(sequence, STATE)

    def restore(self, sequence: int, state: bytes) -> bool:
        if self.accepts:
            self.states[sequence] = state
        return self.accepts


def test_a_kept_prefix_comes_back(tmp_path: Path) -> None:
    PrefixStore(tmp_path, "model a").save(TOKENS, STATE)
    assert PrefixStore(tmp_path, "model a").load(TOKENS) == STATE


def test_other_tokens_or_another_model_find_nothing(tmp_path: Path) -> None:
    store = PrefixStore(tmp_path, "model a")
    store.save(TOKENS, STATE)
    assert store.load((*TOKENS, 1)) is None
    assert PrefixStore(tmp_path, "model b").load(TOKENS) is None


@settings(max_examples=examples(60))
@given(place=st.integers(0, 10_000), change=st.integers(1, 255), cut=st.integers(0, 10_000))
def test_a_damaged_file_is_removed_and_never_used(
    tmp_path_factory: pytest.TempPathFactory, place: int, change: int, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("kept")
    store = PrefixStore(folder, "model")
    store.save(TOKENS, STATE)
    (path,) = folder.glob("*.kv")
    data = bytearray(path.read_bytes())
    data[place % len(data)] ^= change
    path.write_bytes(data[: max(len(data) - cut % 50, 0)])
    assert store.load(TOKENS) is None
    assert not path.exists()


def test_a_file_that_was_renamed_to_another_key_is_not_used(tmp_path: Path) -> None:
    store = PrefixStore(tmp_path, "model")
    store.save(TOKENS, STATE)
    (path,) = tmp_path.glob("*.kv")
    store.save(TOKENS[1:], b"other" * 100)
    other = next(p for p in tmp_path.glob("*.kv") if p != path)
    os.replace(path, other)
    assert store.load(TOKENS[1:]) is None


def test_the_longest_unused_go_when_the_cap_is_reached(tmp_path: Path) -> None:
    store = PrefixStore(tmp_path, "model", cap=3 * 6500)
    for number in range(4):
        store.save((number, *TOKENS), STATE)
        path = max(tmp_path.glob("*.kv"), key=lambda p: p.stat().st_mtime_ns)
        os.utime(path, (1_000_000 + number, 1_000_000 + number))
        if number == 2:
            # Used again, so the second one is now the longest unused.
            assert store.load((0, *TOKENS)) == STATE
    assert store.load((1, *TOKENS)) is None
    assert store.load((0, *TOKENS)) == STATE
    assert store.load((3, *TOKENS)) == STATE
    assert sum(p.stat().st_size for p in tmp_path.iterdir()) <= 3 * 6500


def test_a_folder_that_cannot_be_written_is_said_and_does_not_stop_anything(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    store = PrefixStore(blocked / "kept", "model")
    store.save(TOKENS, STATE)
    assert store.problem
    assert store.load(TOKENS) is None


def test_a_table_loads_what_another_one_kept(tmp_path: Path) -> None:
    store = PrefixStore(tmp_path, "model")
    first = PrefixTable(Memory(), [0, 1], store)
    prefix = first.get(TOKENS)
    assert prefix is not None
    assert not prefix.ready
    prefix.done = len(TOKENS)
    first.keep(prefix)

    memory = Memory()
    second = PrefixTable(memory, [0, 1], store)
    again = second.get(TOKENS)
    assert again is not None
    assert again.ready
    assert memory.states[again.sequence] == STATE
    assert second.loaded == len(TOKENS)


def test_a_state_that_the_context_refuses_is_read_again(tmp_path: Path) -> None:
    store = PrefixStore(tmp_path, "model")
    store.save(TOKENS, STATE)
    prefix = PrefixTable(Memory(accepts=False), [0], store).get(TOKENS)
    assert prefix is not None
    assert prefix.done == 0


def test_short_prefixes_are_not_kept(tmp_path: Path) -> None:
    table = PrefixTable(Memory(), [0], PrefixStore(tmp_path, "model"))
    prefix = table.get(TOKENS[: SHORTEST - 1])
    assert prefix is not None
    table.keep(prefix)
    assert not list(tmp_path.iterdir())


def test_only_idle_prefixes_make_room_and_the_longest_unused_first() -> None:
    table = PrefixTable(Memory(), [0, 1], None)
    used, idle = table.get((1,)), table.get((2,))
    assert used is not None
    assert idle is not None
    assert table.get((3,)) is None
    used.users = 1
    assert table.drop_idle(one=True) == [idle.sequence]
    assert table.get((3,)) is not None
    assert (1,) in table
    assert (2,) not in table


def test_a_sample_tells_files_of_the_same_size_apart(tmp_path: Path) -> None:
    one, other = tmp_path / "a", tmp_path / "b"
    one.write_bytes(bytes(1_000_000))
    other.write_bytes(bytes(999_999) + b"x")
    assert file_sample(one) != file_sample(other)
    assert file_sample(one) == file_sample(one)
