"""What is in a landing's way, in a real round: shown where people and agents read, once, and gone when it landed."""

import json

from landing_world import AT, Landing, policy, required, rules
from loop_world import REPO, LoopWorld

from app.domain.handoff_marker import marker_of
from tests.delivery.hostile_texts import TEXTS

CHECK = "tests @all fixes #1313"


def _told(ticket: Landing) -> tuple[str, str]:
    """The handoff comment and the check-run's summary."""
    world, pull = ticket.world, ticket.pull()
    (comment,) = world.comments(pull["number"], marker_of(ticket.ticket))
    (run,) = world.check_runs(pull["head"]["sha"])
    return comment["body"], run["output"]["summary"]


async def test_a_blocker_is_shown_everywhere_until_it_is_gone(world: LoopWorld) -> None:
    rules(world, "release-1", required(CHECK))
    ticket = await Landing.ready(world, policy(checks="[lint]"))
    title = TEXTS["closing words"] + " [skip ci]"
    ticket.patch(f"pulls/{ticket.pull()['number']}", title=title)
    await ticket.settle()
    for text in _told(ticket):
        assert "Required checks that have not reported on" in text
        assert "tests @\N{WORD JOINER}all" in text
        assert "@all" not in text
    brief = await ticket.controller.brief(*AT, ticket.ticket)
    assert any(b.startswith("landing (checks_waiting)") for b in brief.blockers)
    assert f"checks_waiting: {CHECK}" in brief.untrusted.quoted
    assert CHECK not in json.dumps([c.reason for c in brief.criteria])
    since = world.requested()
    await ticket.settle()
    assert world.writes(since) == []

    head = ticket.pull()["head"]["sha"]
    for context, state in ((CHECK, "failure"), ("lint", "success")):
        world.http.post(f"/repos/{REPO}/statuses/{head}", json={"context": context, "state": state}).raise_for_status()
    await ticket.settle()
    for text in _told(ticket):
        assert "Required checks that did not pass on" in text
        assert "have not reported" not in text

    world.http.post(f"/repos/{REPO}/statuses/{head}", json={"context": CHECK, "state": "success"}).raise_for_status()
    await ticket.settle()
    assert ticket.pull()["merged"]
    message = ticket.trunk_messages()[0]
    assert message == (
        f"Land ticket #{ticket.ticket} (PR #{ticket.pull()['number']})\n\n"
        f"The commit {head}, published under generation 1, was landed by Agent Recovery."
    )
    comment = _told(ticket)[0]
    assert "Before it lands" not in comment
