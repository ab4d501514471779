"""The division of the graph stays in step with it, and changes no more than it must."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localrag.communities.dividing import in_step, keep_in_step
from localrag.errors import KnowledgeBaseReadOnly
from localrag.sections import CommunitySettings
from localrag.store import Store
from tests.store.helpers import add_lines, entity, generation, reading, relation

SETTINGS = CommunitySettings()
FRIENDS = ("Ada", "Bruno", "Carla", "Dora")
BAKERS = ("Emil", "Frida", "Gustav")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create(tmp_path / "graph.localrag") as store:
        yield store


def tell(store: Store, *names: str) -> None:
    """A passage in which all these know each other."""
    (chunk,) = add_lines(store, f"{', '.join(names)} met {store.revision()}")
    pairs = [(one, other) for place, one in enumerate(names) for other in names[place + 1 :]]
    said = [entity(name, "") for name in names]
    store.graph.record(chunk, reading(said, [relation(*pair, "They met.") for pair in pairs]), generation())


def members(store: Store, level: int = 0) -> set[frozenset[str]]:
    return {
        frozenset(row.name for row in store.graph.entities(community.members))
        for community in store.reports.communities(level)
    }


def test_groups_become_communities_and_nobody_is_lost(store: Store) -> None:
    tell(store, *FRIENDS)
    tell(store, *BAKERS)
    tell(store, "Hugo")
    assert not in_step(store, SETTINGS)
    found = keep_in_step(store, SETTINGS)
    assert members(store) == {frozenset(FRIENDS), frozenset(BAKERS), frozenset({"Hugo"})}
    assert (found.communities, found.levels, found.single, found.kept, found.gone) == (3, 1, 1, 0, 0)
    assert in_step(store, SETTINGS)
    revision = store.revision()
    again = keep_in_step(store, SETTINGS)
    assert (again.changed, again.kept) == (False, 3)
    assert store.revision() == revision


def test_what_changed_is_divided_anew_and_the_rest_keeps_its_ids(store: Store) -> None:
    tell(store, *FRIENDS)
    tell(store, *BAKERS)
    keep_in_step(store, SETTINGS)
    before = {row.members: row.id for row in store.reports.communities()}
    tell(store, "Hugo", "Emil", "Frida")
    found = keep_in_step(store, SETTINGS)
    assert (found.changed, found.kept, found.gone) == (True, 2, 0)
    assert members(store) == {frozenset(FRIENDS), frozenset({*BAKERS, "Hugo"})}
    assert {row.id for row in store.reports.communities()} == set(before.values())


def test_a_large_group_has_parts_at_the_next_level(store: Store) -> None:
    for _ in range(3):
        tell(store, *FRIENDS)
        tell(store, *BAKERS)
    tell(store, "Ada", "Emil", "Hugo")
    tell(store, "Bruno", "Frida", "Hugo")
    small = CommunitySettings(max_size=4)
    found = keep_in_step(store, small)
    tops = store.reports.communities(0)
    assert max(len(row.members) for row in tops) <= 8
    for row in store.reports.communities(1):
        parent = store.reports.community(row.parent_id or 0)
        assert set(row.members) < set(parent.members)
    assert found.levels == 1 + max(row.level for row in store.reports.communities())
    assert not in_step(store, SETTINGS)


def test_a_fresh_division_depends_on_the_graph_alone(store: Store, tmp_path: Path) -> None:
    tell(store, *BAKERS)
    keep_in_step(store, SETTINGS)
    tell(store, *FRIENDS)
    keep_in_step(store, SETTINGS)
    tell(store, "Ada", "Hugo")
    keep_in_step(store, SETTINGS, fresh=True)
    with Store.create(tmp_path / "other.localrag") as other:
        tell(other, "Ada", "Hugo")
        tell(other, *FRIENDS)
        tell(other, *BAKERS)
        keep_in_step(other, SETTINGS)
        assert members(other) == members(store)
        assert other.reports.divided() == store.reports.divided()


def test_an_empty_graph_has_no_communities(store: Store) -> None:
    assert in_step(store, SETTINGS)
    found = keep_in_step(store, SETTINGS)
    assert (found.communities, found.levels, found.changed) == (0, 0, False)


def test_a_file_that_cannot_be_written_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "read.localrag"
    with Store.create(path) as store:
        tell(store, *FRIENDS)
        keep_in_step(store, SETTINGS)
    with Store.open(path, read_only=True) as store:
        assert not keep_in_step(store, SETTINGS).changed
        with pytest.raises(KnowledgeBaseReadOnly):
            keep_in_step(store, CommunitySettings(seed=2))
