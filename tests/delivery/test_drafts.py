"""Draft or ready: the PR follows the record, a person's own click wins until the ticket's state changes."""

from dataclasses import replace
from datetime import timedelta

import pytest
from landing_world import Landing, policy
from loop_world import REPO, LoopWorld
from upkeep_scene import HEAD, NOW, PULL, act, observation, record

from app.domain.drafts import NO_DRAFTS, REFUSED_FOR, asked_state, decide_draft, drafted_by, refused
from app.domain.fencing import AtPublished, Foreign, Head, NothingPublished
from app.domain.plan import Note, SetDraft
from app.domain.policy import Policy
from app.domain.pull_acts import Act
from app.domain.record import AskedToLand, Drafting, Record
from app.domain.record import Landing as Landed
from app.domain.upkeep_actions import AddLabels, RemoveLabel
from app.domain.verdict import verdict_on
from app.domain.worth_knowing import worth_knowing

FENCED, UNFENCED = AtPublished(HEAD, True), AtPublished(HEAD, False)
READY = replace(PULL, is_draft=False)
CLICKED_READY = Drafting(clicked="1", by="ann", ready=False)
CLICKED_DRAFT = Drafting(clicked="1", by="ann", ready=True)


@pytest.mark.parametrize(
    ("status", "head", "asked"),
    [
        ("ready", FENCED, True),
        ("ready", UNFENCED, False),
        ("ready", Foreign(HEAD, "d" * 40), False),
        ("working", FENCED, False),
        ("waiting", FENCED, False),
        ("recovering", UNFENCED, False),
        ("unclaimed", UNFENCED, False),
        ("completed", UNFENCED, True),
        ("held", FENCED, None),
        ("exhausted", FENCED, None),
        ("working", NothingPublished(None), None),
    ],
)
def test_what_the_record_asks_for(status: str, head: Head, asked: bool | None) -> None:
    assert asked_state(record(status), head) is asked


def test_a_person_s_word_to_land_a_commit_asks_for_a_ready_pr_and_is_newer_than_a_click_before_it() -> None:
    def asked(sha: str, minutes: int, known: Drafting | None = None) -> Record:
        word = AskedToLand(by="wanda", at=NOW + timedelta(minutes=minutes), head_sha=sha)
        return record("working", known, landing=Landed(asked=word))

    assert asked_state(asked(HEAD, 1), FENCED) is True
    assert asked_state(asked("d" * 40, 1), FENCED) is False
    assert asked_state(asked(HEAD, 1), UNFENCED) is False
    pull = replace(PULL, acts=(act("draft"),))
    assert _done(decide_draft(asked(HEAD, 1, CLICKED_DRAFT), pull, FENCED, None, now=NOW)) == ["noted", "ready"]
    assert _done(decide_draft(asked(HEAD, -1, CLICKED_DRAFT), pull, FENCED, None, now=NOW)) == []


# status of the record, PR is a draft?, what is known, the timeline → what is done
TABLE: list[tuple[str, bool, Drafting, tuple[Act, ...], list[str]]] = [
    ("working", True, Drafting(), (), []),
    ("working", False, Drafting(), (), ["draft"]),
    ("working", False, Drafting(), (act("ready", "app"),), ["draft"]),
    ("ready", True, Drafting(), (), ["ready"]),
    ("ready", True, Drafting(), (act("draft", "app"),), ["ready"]),
    ("ready", False, Drafting(), (act("ready", "app"),), []),
    # A person clicks ready while work goes on: noted, and the PR stays ready.
    ("working", False, Drafting(), (act("ready"),), ["noted by ann"]),
    ("working", False, CLICKED_READY, (act("ready"),), []),
    # … the ticket becomes ready: the click is over, and nothing needs to change.
    ("ready", False, CLICKED_READY, (act("ready"),), ["noted"]),
    # … and work is resumed: a draft again, whoever had made it ready.
    ("working", False, Drafting(clicked="1", ready=True), (act("ready"),), ["draft"]),
    # A person makes a ready ticket's PR a draft: noted, left alone.
    ("ready", True, Drafting(), (act("ready", "app", id="0"), act("draft")), ["noted by ann"]),
    ("ready", True, CLICKED_DRAFT, (act("draft"),), []),
    # … work goes on, and the ticket is ready again: the PR follows.
    ("working", True, CLICKED_DRAFT, (act("draft"),), ["noted"]),
    ("ready", True, Drafting(clicked="1"), (act("draft"),), ["ready"]),
    # … or they take it back.
    ("ready", False, CLICKED_DRAFT, (act("draft"), act("ready", id="2")), ["noted"]),
    # A click that agrees is noted once and holds nothing up.
    ("working", True, Drafting(), (act("ready", id="0"), act("draft")), ["noted"]),
    ("working", True, Drafting(clicked="1"), (act("draft"),), []),
    # The account is gone: it was a person's click all the same.
    ("working", False, Drafting(), (replace(act("ready"), by=None),), ["noted by somebody whose account is gone"]),
    # What was clicked is not shown yet: noted, and looked at again.
    ("working", True, Drafting(), (act("ready"),), ["noted"]),
    # GitHub would not: not again for a day, unless the other state is asked for.
    ("working", False, Drafting(refused="draft", refused_at=NOW), (), []),
    ("ready", True, Drafting(refused="draft", refused_at=NOW), (), ["ready"]),
    ("working", False, Drafting(refused="draft", refused_at=NOW - REFUSED_FOR), (), ["draft"]),
    ("held", False, Drafting(), (), []),
]


def _done(actions: object) -> list[str]:
    found = []
    for action in actions:  # type: ignore[attr-defined]
        match action:
            case SetDraft(draft=draft):
                found.append("draft" if draft else "ready")
            case Note(value=Drafting(by=by)):
                found.append("noted" if by is None else f"noted by {by}")
            case AddLabels() | RemoveLabel():
                found.append(type(action).__name__)
    return found


@pytest.mark.parametrize(("status", "is_draft", "known", "acts", "done"), TABLE)
def test_the_draft_state(status: str, is_draft: bool, known: Drafting, acts: tuple[Act, ...], done: list[str]) -> None:
    pull = replace(PULL, is_draft=is_draft, acts=acts)
    assert _done(decide_draft(record(status, known), pull, FENCED, None, now=NOW)) == done


@pytest.mark.parametrize(("status", "is_draft", "known", "acts", "done"), TABLE)
def test_a_note_settles_it(
    status: str, is_draft: bool, known: Drafting, acts: tuple[Act, ...], done: list[str]
) -> None:
    """With what was noted and set, nothing is left to do."""
    pull, at = replace(PULL, is_draft=is_draft, acts=acts), known
    for _ in range(3):
        for action in decide_draft(record(status, at), pull, FENCED, None, now=NOW):
            if isinstance(action, Note) and isinstance(action.value, Drafting):
                at = action.value
            if isinstance(action, SetDraft):
                pull = replace(pull, is_draft=action.draft, acts=(*pull.acts, act("draft", "app", id="9")))
    assert _done(decide_draft(record(status, at), pull, FENCED, None, now=NOW)) == []


@pytest.mark.parametrize(
    ("status", "is_draft", "known", "acts", "who"),
    [
        ("ready", True, CLICKED_DRAFT, (), "ann"),
        ("ready", True, Drafting(), (act("draft"),), "ann"),
        ("ready", True, Drafting(), (act("draft", "app"),), None),
        ("ready", False, CLICKED_DRAFT, (), None),
        ("working", True, CLICKED_DRAFT, (), None),
    ],
)
def test_who_keeps_a_ready_ticket_from_landing(
    status: str, is_draft: bool, known: Drafting, acts: tuple[Act, ...], who: str | None
) -> None:
    assert drafted_by(record(status, known), replace(PULL, is_draft=is_draft, acts=acts)) == who


UNSUPPORTED = Drafting(unsupported=True, refused="draft", refused_at=NOW)
LABELLED = UNSUPPORTED.model_copy(update={"label": "wip"})


@pytest.mark.parametrize(
    ("status", "known", "labels", "acts", "done"),
    [
        ("working", UNSUPPORTED, (), (), ["AddLabels"]),
        ("working", UNSUPPORTED, ("WIP",), (), []),
        ("working", LABELLED, ("wip",), (), []),
        ("working", LABELLED, (), (), []),  # somebody took it off, or the repository has no such label
        ("working", UNSUPPORTED, (), (act("unlabeled", what="wip"),), []),
        ("working", Drafting(refused="draft", refused_at=NOW), (), (), []),  # refused for another reason
        ("ready", LABELLED, ("wip",), (), ["RemoveLabel"]),
        ("ready", UNSUPPORTED, ("wip",), (), []),  # somebody else's
        ("ready", LABELLED, (), (), []),
    ],
)
def test_where_the_plan_has_no_drafts_a_label_says_it(
    status: str, known: Drafting, labels: tuple[str, ...], acts: tuple[Act, ...], done: list[str]
) -> None:
    pull = replace(READY, labels=labels, acts=acts)
    assert _done(decide_draft(record(status, known), pull, FENCED, "wip", now=NOW)) == done
    without = [a for a in decide_draft(record(status, known), pull, FENCED, None, now=NOW) if isinstance(a, AddLabels)]
    assert without == []


def test_a_refusal_is_remembered_and_a_plan_without_drafts_is_told_apart() -> None:
    other = refused(Drafting(), True, "Resource not accessible by integration", now=NOW)
    assert (other.refused, other.unsupported) == ("draft", False)
    plan = refused(other, True, "Draft pull requests are not supported in this repository.", now=NOW)
    assert plan.unsupported
    assert refused(plan, False, "no", now=NOW + timedelta(1)).refused == "ready"


def test_readers_are_told() -> None:
    seen = observation(READY)
    said = verdict_on(record("working", UNSUPPORTED), FENCED, seen)
    assert NO_DRAFTS in said.summary
    assert said.conclusion == "success"
    assert worth_knowing(record("working", UNSUPPORTED), seen, Policy()) == (NO_DRAFTS,)
    assert "ann marked the PR as ready" in worth_knowing(record("working", CLICKED_READY), seen, Policy())[0]
    drafted = observation(replace(PULL, acts=(act("draft"),)))
    assert "ann made the PR a draft" in worth_knowing(record("ready", CLICKED_DRAFT), drafted, Policy())[0]
    assert worth_knowing(record(), observation(), Policy()) == ()


async def test_people_click_and_the_ticket_goes_on(world: LoopWorld) -> None:
    """Played: ready while work goes on, then the ticket's own ready, a draft against it, and back again."""
    ticket = await Landing.begun(world, policy("repair"))
    ticket.click_ready()
    await ticket.settle()
    record = await ticket.record()
    assert (record.projections.drafting.by, ticket.pull()["draft"], record.status) == ("wanda", False, "working")
    since = world.requested()
    await ticket.settle()
    assert world.writes(since) == []
    await ticket.say("ready")
    await ticket.settle()
    assert ((await ticket.record()).projections.drafting.by, ticket.pull()["draft"]) == (None, False)
    await ticket.say("working")
    await ticket.settle()
    assert ticket.pull()["draft"]
    await ticket.say("ready")
    await ticket.settle()
    assert not ticket.pull()["draft"]
    _click(world, ticket, "convertPullRequestToDraft")
    await ticket.settle()
    assert ticket.pull()["draft"]
    (comment,) = [c["body"] for c in world.get(f"issues/{ticket.pull()['number']}/comments")]
    assert "wanda made the PR a draft" in comment
    since = world.requested()
    await ticket.settle()
    assert world.writes(since) == []


async def test_a_plan_without_drafts(world: LoopWorld) -> None:
    world.emulator.change_repo(REPO, private=True, plan_allows_drafts=False)
    world.http.post(f"/repos/{REPO}/labels", json={"name": "in work", "description": "not ready"}).raise_for_status()
    ticket = await Landing.begun(world, policy("repair") + "draft_label: In work\n")
    pull = ticket.pull()
    assert ([label["name"] for label in pull["labels"]], pull["draft"]) == (["in work"], False)
    since = world.requested()
    await ticket.settle()
    assert world.writes(since) == []
    await ticket.say("ready")
    await ticket.settle()
    assert (ticket.pull()["labels"], ticket.pull()["title"]) == ([], pull["title"])


def _click(world: LoopWorld, ticket: Landing, mutation: str) -> None:
    query = f"mutation($id: ID!) {{ {mutation}(input: {{pullRequestId: $id}}) {{ clientMutationId }} }}"
    body = {"query": query, "variables": {"id": ticket.pull()["node_id"]}}
    answer = world.http.post("/graphql", json=body).raise_for_status().json()
    assert "errors" not in answer, answer
