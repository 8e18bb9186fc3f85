"""What a brief says of a child's contract and of a ticket's children is needed, field by field.

A fresh agent goes on with a child from its brief, and another decides about all children of a ticket from its own. Each
field, read from the models, is blanked in turn, of the children in each child alone: every time the agent stops.
"""

import asyncio
import copy
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from family_story import Family, play
from loop_world import LoopWorld

from app.domain.brief import Brief
from app.emulator.client import Emulator
from tests.recovery.blanking import Place, blank, blanked, fields, holders
from tests.recovery.fresh_agent import CannotGoOn, Git
from tests.recovery.fresh_family import Decision, FreshChild, FreshParent
from tests.recovery.fresh_story import git_in

CONTRACT = [place for place in fields(Brief) if place[0] == "contract"]
CHILDREN = [place for place in fields(Brief) if place[0] == "children"]
OBJECTS = [("contract",), ("contract", "budget")]


@pytest.fixture(scope="module")
def family(emulator: Emulator, tmp_path_factory: pytest.TempPathFactory) -> Family:
    async def told() -> Family:
        world = LoopWorld(emulator, tmp_path_factory.mktemp("family"))
        try:
            return await play(world)
        finally:
            await world.close()

    return asyncio.run(told())


def reading(folder: Path) -> Git:
    """Git in a clone that nobody changes any more: asked the same, it says the same."""
    return functools.cache(lambda *words: git_in(folder, *words))


@pytest.fixture(scope="module")
def child(family: Family) -> FreshChild:
    return FreshChild(family.child_folder, reading(family.child_folder), roles=("writer",))


@pytest.fixture(scope="module")
def parent(family: Family) -> FreshParent:
    return FreshParent(reading(family.parent_folder), results="refs/results")


def test_the_child_is_finished_and_its_parent_sees_it(family: Family) -> None:
    assert family.given["acceptance"] == [
        {"text": "it says how to install", "met": True},
        {"text": "it says how to use", "met": True},
    ]
    assert family.given["artifacts"] == ["guide/a1.txt", "guide/a2.txt"]
    guide = family.afterwards["guide"]
    assert (guide["state"], guide["generation"], guide["role"]) == ("completed", 3, "writer")
    assert guide["head_sha"] != family.child["work"]["published_sha"]


def test_every_child_gets_what_its_state_asks_for(family: Family, parent: FreshParent) -> None:
    decided = {d.name: d for d in parent.decide(copy.deepcopy(family.parent))}
    assert [(d.name, d.deed) for d in decided.values()] == [
        ("first", "nothing"),
        ("old", "respawn"),
        ("docs", "integrate"),
        ("guide", "recover"),
        ("broken", "respawn"),
        ("dropped", "nothing"),
        ("code", "wait"),
        ("tests", "wait"),
        ("late", "recover"),
    ]
    assert decided["docs"].command == ("agent-recovery", "child", "integrate", "docs")
    assert decided["guide"].command[:3] == ("agent-recovery", "recover", f"{family.ticket}.guide")
    assert (decided["code"].told, decided["tests"].told) == ("for on code", "for docs")


@pytest.mark.parametrize("place", [*CONTRACT, *OBJECTS], ids=".".join)
def test_a_blank_in_the_contract_stops_the_child(family: Family, child: FreshChild, place: Place) -> None:
    child.check(copy.deepcopy(family.child))
    mutant = blanked(family.child, place)
    assert mutant is not None, "the story leaves this field blank, so nothing shows that it is needed"
    with pytest.raises(CannotGoOn):
        child.check(mutant)


def each_blanked(brief: dict[str, Any], place: Place) -> Iterator[tuple[str, dict[str, Any]]]:
    """The brief with the field blank in one child, for every child that says something there."""
    for number, holder in enumerate(holders(brief, place)):
        mutant = copy.deepcopy(brief)
        if blank(holders(mutant, place)[number], place[-1]):
            yield holder["name"], mutant


@pytest.mark.parametrize("place", CHILDREN, ids=".".join)
def test_a_blank_in_any_one_child_stops_its_parent(family: Family, parent: FreshParent, place: Place) -> None:
    went_on: dict[str, list[Decision]] = {}
    mutants = list(each_blanked(family.parent, place))
    assert mutants, "the story leaves this field blank, so nothing shows that it is needed"
    for name, mutant in mutants:
        try:
            went_on[name] = parent.decide(mutant)
        except CannotGoOn:
            continue
    assert went_on == {}


def test_a_brief_without_its_children_stops_the_parent(family: Family, parent: FreshParent) -> None:
    mutant = blanked(family.parent, ("children",))
    assert mutant is not None
    with pytest.raises(CannotGoOn):
        parent.decide(mutant)
