"""A fresh agent finishes a ticket from the brief's JSON and the brief's commands alone, in real processes.

Every field of the brief carries weight: blanked, one at a time, it stops this agent before it does anything. Which
fields there are is read from the brief's model, so that a new one has to be used here, or in `test_fresh_family.py`.
"""

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from app.domain.brief import Brief
from app.drill.world import STEPS, TRUNK, World
from tests.recovery.blanking import Place, blanked, fields, holders
from tests.recovery.fresh_agent import CannotGoOn, FreshAgent
from tests.recovery.fresh_story import DONE_BY_THE_FIRST, Told, git_in, play
from tests.recovery.recovery_page import PAGE, page
from tests.recovery.recovery_page import STEPS as EXPLAINED

OF_A_FAMILY = {("children",), ("contract",)}
"""A ticket without children has none, and only a child has a contract: `test_fresh_family.py` blanks both."""
OF_A_BLOCKER = {("untrusted", "quoted")}
"""Nothing is in this ticket's way: what a blocker quotes is tried in `tests/delivery/test_landing_shown.py`."""
NEVER_HAVE_A_COMMIT = {("next_steps", "sha"), ("untrusted", "issue_tasks", "sha")}
"""Blank for as long as the step is to be done: here it is a commit that stops the agent."""

LEAVES = list(fields(Brief, leave_out=OF_A_FAMILY | OF_A_BLOCKER | NEVER_HAVE_A_COMMIT))
LISTS = [("completed_steps",), ("next_steps",), ("findings",), ("criteria",), ("commands",), ("validations",)]
LISTS += [("untrusted", "issue_tasks")]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    world = World(tmp_path_factory.mktemp("orchard"))
    try:
        world.start_service()
        world.install()
        yield play(world)
    finally:
        world.stop()


def test_the_ticket_is_finished_and_nothing_was_done_twice(told: Told) -> None:
    record = told.record
    assert (record["status"], record["generation"], told.draft) == ("ready", 2, False)
    checkpoint = record["checkpoint"]
    assert [step["id"] for step in checkpoint["completed_steps"]] == [str(n) for n in range(1, len(STEPS) + 1)]
    assert all(step["sha"] for step in checkpoint["completed_steps"])
    assert (checkpoint["next_steps"], checkpoint["blockers"]) == ([], [])
    assert checkpoint["accepted_decisions"] == ["One file a step"]
    by_the_first = [name for name, text in told.files.items() if "by the first" in text]
    assert by_the_first == [f"work/step-{n}.txt" for n in range(1, DONE_BY_THE_FIRST + 1)]
    assert all(text.endswith("finished") or text.endswith("finished\n") for text in told.files.values())


def test_what_was_validated_on_this_very_commit_was_not_run_again(told: Told) -> None:
    assert [(run["exit_code"], run["reused"]) for run in told.verify] == [(0, True)]
    states = {shown["profile"]: shown["state"] for shown in told.held["validations"]}
    assert states == {"verify": "passed", "slow": "not run"}


def test_the_last_record_holds_what_was_validated_on_the_last_commit(told: Told) -> None:
    (verify,) = [v for v in told.record["validations"] if v["profile"] == "verify"]
    assert verify["validated_sha"] == told.record["published"]["sha"]
    assert verify["completed"] == ["python3 tools/check.py"]


class WentOn(Exception):
    """The agent had all it needed and began to act."""


def must_not(words: Sequence[str]) -> dict[str, Any]:
    raise WentOn(" ".join(words))


def stops(told: Told, before: dict[str, Any], held: dict[str, Any]) -> bool:
    """Whether the agent stops, in the first brief or in the second."""
    agent = FreshAgent(told.folder, "fresh agent", must_not, lambda *words: git_in(told.folder, *words))
    try:
        agent.take(before)
    except CannotGoOn:
        return True
    except WentOn:
        pass
    try:
        agent.check(held)
    except CannotGoOn:
        return True
    return False


@pytest.mark.parametrize("place", [*LEAVES, *LISTS], ids=".".join)
def test_a_blanked_field_stops_it_before_it_does_anything(told: Told, place: Place) -> None:
    before, held = blanked(told.before, place), blanked(told.held, place)
    assert before or held, "the story leaves this field blank, so nothing shows that it is needed"
    assert stops(told, before or told.before, held or told.held)


@pytest.mark.parametrize("place", sorted(NEVER_HAVE_A_COMMIT), ids=".".join)
def test_a_commit_of_what_is_still_to_be_done_stops_it(told: Told, place: Place) -> None:
    before, held = copy.deepcopy(told.before), copy.deepcopy(told.held)
    for step in (*holders(before, place), *holders(held, place)):
        step["sha"] = told.held["work"]["published_sha"]
    assert stops(told, before, held)


def test_from_what_it_read_it_goes_on(told: Told) -> None:
    agent = FreshAgent(told.folder, "fresh agent", must_not, lambda *words: git_in(told.folder, *words))
    with pytest.raises(WentOn, match=r"^agent-recovery recover 42 --repo acme/orchard$"):
        agent.take(copy.deepcopy(told.before))
    assert agent.check(copy.deepcopy(told.held))["finish"] == ["agent-recovery", "ready"]
    assert told.held["work"]["trunk"] == TRUNK


def test_the_page_about_recoveries_walks_this_very_brief(told: Told) -> None:
    assert [finding["step"] for finding in told.held["findings"]] == list(EXPLAINED)
    assert PAGE.read_text("utf-8") == page(told.before, told.held), "run: python -m tests.recovery.recovery_page"
