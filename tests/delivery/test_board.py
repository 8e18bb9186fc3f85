"""The organization's Project: target release, priority, status; a person's move wins, nothing there blocks a ticket."""

from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import loop_world
import pytest
from landing_world import Landing, policy
from loop_world import REPO, LoopWorld
from upkeep_scene import BASE, COLUMNS, WORK, observation, on_board, record

from app.domain.board import asks_for_trunks, decide_board, trunk_of_release, warnings, written
from app.domain.keys import IssueKey
from app.domain.noting import noted
from app.domain.observation import Branch, Observation
from app.domain.plan import Action, MoveTrunk, Note
from app.domain.policy import Policy, ProjectPolicy, StatusNames
from app.domain.policy_text import read_policy
from app.domain.priority import NONE, rank, rank_of
from app.domain.record import Board, Merged, Permit, Record, Target
from app.domain.record import Landing as Landed
from app.domain.surroundings import Asked, Column, Surroundings
from app.domain.trunks import Trunk, choose_trunk
from app.domain.upkeep_actions import SetBoardStatus
from app.emulator.client import Emulator

POLICY = Policy(project=ProjectPolicy(number=7))
TRUNKS = (Branch("release-1", BASE), Branch("release-1-2-0", "c" * 40), Branch("release/2.0", "d" * 40))
MERGED = Merged(pr=50, head_sha="a" * 40, base="release-1", merge_sha="e" * 40, at=observation().now)


def decided(of: Record, seen: Observation, trunks: tuple[Branch, ...] | None = TRUNKS) -> list[Action]:
    return list(decide_board(of, seen, POLICY, trunks))


def told(actions: Iterable[Action]) -> list[str]:
    found = []
    for action in actions:
        match action:
            case SetBoardStatus(value=value):
                found.append(f"set {value}")
            case MoveTrunk(trunk=trunk):
                found.append(f"to {trunk}")
            case Note(value=Board() as at):
                found.append(f"noted {at.status or '-'}/{at.moved or '-'}/{at.release or '-'}")
    return found


# status of the record, what is known, what the board shows → what is done
STATUSES: list[tuple[str, Board, str | None, list[str]]] = [
    ("working", Board(), "Todo", ["set In Progress"]),
    ("recovering", Board(), None, ["set In Progress"]),
    ("waiting", Board(), "Done", ["set In Progress"]),
    ("working", Board(), "In Progress", ["noted In Progress/-/-"]),
    ("working", Board(status="In Progress"), "In Progress", []),
    ("waiting", Board(status="In Progress"), "In Progress", []),
    # The ticket's status changed: written, over whatever stands there.
    ("ready", Board(status="In Progress"), "In Progress", ["set In review"]),
    ("ready", Board(status="In Progress", moved="Todo"), "Todo", ["set In review"]),
    ("landed", Board(status="In review"), "In review", ["set Done"]),
    # A person moved the card: noted once, left alone.
    ("working", Board(status="In Progress", before="Todo"), "Done", ["noted In Progress/Done/-"]),
    ("working", Board(status="In Progress", moved="Done"), "Done", []),
    ("working", Board(status="In Progress", moved="Done"), "In Progress", ["noted In Progress/-/-"]),
    # An answer that lags behind our write shows what stood there before: no news.
    ("working", Board(status="In Progress", before="Todo"), "Todo", []),
    ("working", Board(status="In Progress"), None, []),
    # The policy names no option for it, or the ticket is not over yet.
    ("unclaimed", Board(), "Todo", []),
    ("held", Board(status="In Progress"), "In Progress", []),
    ("cancelled", Board(), "Todo", []),
    # What GitHub refused is not tried again for this status.
    ("working", Board(status="In Progress", before="Todo", refused="no"), "Todo", []),
]


@pytest.mark.parametrize(("status", "known", "shown", "done"), STATUSES)
def test_the_status(status: str, known: Board, shown: str | None, done: list[str]) -> None:
    seen = on_board(**({"Status": shown} if shown is not None else {}))
    assert told(decided(record(status, board=known), seen)) == done


@pytest.mark.parametrize(("status", "known", "shown", "done"), STATUSES)
def test_a_second_look_writes_nothing(status: str, known: Board, shown: str | None, done: list[str]) -> None:
    at, value = record(status, board=known), shown
    for _ in range(2):
        for action in decided(at, on_board(**({"Status": value} if value is not None else {}))):
            if isinstance(action, Note):
                at = noted(at, action, now=observation().now)
            elif isinstance(action, SetBoardStatus):
                after = written(at.projections.board, action, None)
                at, value = record(status, board=after), action.value
    assert decided(at, on_board(**({"Status": value} if value is not None else {}))) == []


def test_a_merged_ticket_is_done_before_it_ends_and_one_with_an_incident_is_not() -> None:
    known = Board(status="In review")
    landed = record("ready", board=known, landing=Landed(merged=MERGED))
    assert told(decided(landed, on_board(Status="In review"))) == ["set Done"]
    wrong = record("ready", board=known, landing=Landed(merged=MERGED, incident="another base"))
    assert decided(wrong, on_board(Status="In review")) == []


def test_names_are_found_whatever_their_case_and_only_where_the_field_has_them() -> None:
    columns = (Column("STATUS", "SINGLE_SELECT", ("in PROGRESS",)),)
    (action,) = decided(record(), on_board(columns))
    assert isinstance(action, SetBoardStatus)
    assert (action.project, action.field, action.value) == (7, "STATUS", "in PROGRESS")
    text = (Column("Status", "TEXT"),)
    assert decided(record(), on_board(text)) == []


# what is known, what the board says, the trunk of the record → what is done, and whether trunks are asked for
RELEASES: list[tuple[str | None, str | None, str, list[str], bool]] = [
    (None, "release-1", "release-1", ["noted -/-/release-1"], False),
    # What stood there at the first look moves nothing.
    (None, "1.2.0", "release-1", ["noted -/-/1.2.0"], False),
    (None, None, "release-1", [], False),
    ("1", "1", "release-1", [], False),
    # A person's move: in every spelling of a trunk that stands.
    ("1", "1.2.0", "release-1", ["to release-1-2-0", "noted -/-/1.2.0"], True),
    ("1", "v1.2.0", "release-1", ["to release-1-2-0", "noted -/-/v1.2.0"], True),
    ("1", "Release 1.2.0", "release-1", ["to release-1-2-0", "noted -/-/Release 1.2.0"], True),
    ("1", "release/2.0", "release-1", ["to release/2.0", "noted -/-/release/2.0"], True),
    ("1", "2.0", "release-1", ["to release/2.0", "noted -/-/2.0"], True),
    # Another spelling of where it goes already.
    ("1", "release-1", "release-1", ["noted -/-/release-1"], False),
    # No such trunk, or taken away: it stays where it is.
    ("1", "9.9", "release-1", [], True),
    ("1", "1.2.0; rm -rf", "release-1", [], True),
    ("1", None, "release-1", [], False),
    # A command moved the ticket since; the board was not touched.
    ("1", "1", "release/2.0", [], False),
]


@pytest.mark.parametrize(("known", "shown", "trunk", "done", "asks"), RELEASES)
def test_the_target_release(known: str | None, shown: str | None, trunk: str, done: list[str], asks: bool) -> None:
    columns = tuple(column for column in COLUMNS if column.name != "Status")
    seen = on_board(columns, **({"Target_release": shown} if shown is not None else {}))
    of = record(board=Board(release=known), work=WORK.model_copy(update={"trunk": trunk}))
    assert told(decided(of, seen)) == done
    assert asks_for_trunks(of, seen, POLICY) is asks


def test_what_the_board_says_stays_small_in_the_record() -> None:
    columns = (*COLUMNS[:2], Column("Target release", "TEXT"))
    long = "x" * 5000 + "\n"
    for action in decided(record(), on_board(columns, Status="Todo", Target_release=long)):
        if isinstance(action, Note):
            assert len(noted(record(), action, now=observation().now).projections.board.release or "") < 300
    refused = written(Board(), SetBoardStatus(7, "Status", "Done", None, "r"), "no\n" * 5000)
    assert len(refused.refused or "") < 300


def test_two_trunks_that_a_release_may_mean_move_nothing() -> None:
    twins = (Branch("release-2", BASE), Branch("release/2", BASE))
    of, seen = (
        record(board=Board(release="1", status="In Progress")),
        on_board(Status="In Progress", Target_release="2"),
    )
    assert decided(of, seen, twins) == []
    assert "names no one trunk" in warnings(of, seen, POLICY)[0]


def test_a_merge_that_may_still_come_goes_first_and_ended_tickets_and_children_go_nowhere() -> None:
    known, seen = Board(release="1", status="In Progress"), on_board(Status="In Progress", Target_release="1.2.0")
    merge = Permit(id="p", kind="merge", target=Target(number=50), author="a", round="r")
    assert decided(record(board=known, open=(merge,)), seen) == []
    assert decided(record("held", board=known), seen) == []
    assert "taken off hold" in warnings(record("held", board=known), seen, POLICY)[0]
    assert decided(record("cancelled", board=known), seen) == []
    assert decided(record(board=known, child="docs"), seen) == []


def test_a_ticket_without_work_begins_where_the_new_trunk_is() -> None:
    known, seen = Board(release="1", status="In Progress"), on_board(Status="In Progress", Target_release="1.2.0")
    of = record(board=known, published=None)
    (move, _) = decided(of, seen)
    assert isinstance(move, MoveTrunk)
    moved = noted(of, move, now=seen.now)
    assert (moved.trunk, moved.base_sha, moved.checkpoint.target_release) == (
        "release-1-2-0",
        "c" * 40,
        "release-1-2-0",
    )
    (move, _) = decided(record(board=known), seen)
    assert isinstance(move, MoveTrunk)
    assert noted(record(), move, now=seen.now).base_sha == BASE


@pytest.mark.parametrize(
    ("requested", "release", "trunk"),
    [(None, "1.2.0", "release-1-2-0"), ("release-1", "1.2.0", "release-1"), (None, "9.9", None), (None, None, None)],
)
def test_at_a_claim_the_release_decides_where_nothing_else_does(
    requested: str | None, release: str | None, trunk: str | None
) -> None:
    seen = on_board(**({"Target_release": release} if release is not None else {}))
    names = [branch.name for branch in TRUNKS]
    released = trunk_of_release(seen, POLICY, names)
    chosen = choose_trunk(requested, None, names, POLICY.trunks, "main", released)
    assert (chosen.name if isinstance(chosen, Trunk) else None) == trunk


def _unseen(items: Any = None, **changes: Any) -> Observation:
    return replace(observation(around=Surroundings(asked=Asked(project=True), project_items=items)), **changes)


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (on_board(), []),
        (_unseen(of_organization=False), ["GitHub shows an App the Projects of organizations only"]),
        (_unseen(), ["the App may not read it"]),
        (_unseen(()), ["no line of this Issue"]),
        (on_board(COLUMNS[:1]), ["it has no field 'Priority', 'Target release' (renamed?)"]),
        (on_board((Column("Status", "SINGLE_SELECT", ("Todo",)), *COLUMNS[1:])), ["has no option 'In progress'"]),
    ],
)
def test_what_cannot_be_followed_is_said_in_one_line_and_blocks_nothing(seen: Observation, words: list[str]) -> None:
    found = warnings(record(), seen, POLICY)
    assert len(found) == len(words)
    assert all(word in line for word, line in zip(words, found, strict=True))
    assert warnings(record(), seen, Policy()) == ()
    assert not any(isinstance(action, MoveTrunk) for action in decided(record(), seen))


@pytest.mark.parametrize(
    ("options", "first_to_last"),
    [
        (("Urgent", "High", "Low"), ["urgent", "High", "Low", None]),
        (("Low", "Medium", "High"), ["High", "Medium", "Low", None]),  # names count, not the board's order
        (("P2", "P0", "P1"), ["P0", "P1", "P2", None]),
        (("Now", "Soon", "Someday"), ["Now", "Soon", "Someday", "Gone"]),  # otherwise the board's order
        (("Now", "High"), ["Now", "High", None]),
        ((), ["1", "p2 later", "low", "99999"]),
        ((), ["High", "whenever"]),
    ],
)
def test_priorities(options: tuple[str, ...], first_to_last: list[str | None]) -> None:
    ranks = [rank(value, options) for value in first_to_last]
    assert ranks == sorted(set(ranks))


def test_the_priority_of_a_ticket_is_read_from_its_line() -> None:
    assert rank_of(on_board(Priority="Low"), POLICY) > rank_of(on_board(Priority="High"), POLICY)
    assert rank_of(on_board(), POLICY) == rank_of(observation(), POLICY) == NONE


def test_the_policy_names_options_and_none_is_none() -> None:
    read = read_policy("project:\n  number: 7\n  status:\n    working: Doing\n    landed: null\n    nonsense: x\n")
    assert read.policy is not None
    assert read.policy.project.status == StatusNames(working="Doing", landed=None)
    assert [problem.line for problem in read.problems] == [6]


# ---- played ---------------------------------------------------------------------------------------------------------

FIELDS = [
    {"name": "Status", "type": "SINGLE_SELECT", "options": ["Todo", "In Progress", "In review", "Done", "Parked"]},
    {"name": "Target release", "type": "SINGLE_SELECT", "options": ["1", "2.0", "9.9"]},
]
ON_BOARD = policy() + "project:\n  number: 1\n"


class BoardWorld(LoopWorld):
    """The world with a Project of the organization, and the ticket on it."""

    def __init__(self, emulator: Emulator, folder: Path) -> None:
        super().__init__(emulator, folder)
        self.project = emulator.project("acme", "Plan", fields=FIELDS)
        issue = self.get(f"issues/{self.ticket}")["node_id"]
        query = """mutation($p: ID!, $c: ID!) {
          addProjectV2ItemById(input: {projectId: $p, contentId: $c}) { item { id } } }"""
        answer = self.graphql(query, p=self.project["node_id"], c=issue)
        self.item = answer["addProjectV2ItemById"]["item"]["id"]

    def graphql(self, query: str, **variables: Any) -> Any:
        answer = self.http.post("/graphql", json={"query": query, "variables": variables}).raise_for_status().json()
        assert "errors" not in answer, answer
        return answer["data"]

    def move(self, field: str, option: str) -> None:
        """A person sets a field."""
        found = next(f for f in self.project["fields"] if f["name"] == field)
        chosen = next(o["id"] for o in found["options"] if o["name"] == option)
        query = """mutation($p: ID!, $i: ID!, $f: ID!, $o: String!) { updateProjectV2ItemFieldValue(input: {
          projectId: $p, itemId: $i, fieldId: $f, value: {singleSelectOptionId: $o}}) { clientMutationId } }"""
        self.graphql(query, p=self.project["node_id"], i=self.item, f=found["node_id"], o=chosen)

    def status(self) -> str | None:
        query = """query($i: ID!) { node(id: $i) { ... on ProjectV2Item { fieldValueByName(name: "Status") {
          ... on ProjectV2ItemFieldSingleSelectValue { name } } } } }"""
        value = self.graphql(query, i=self.item)["node"]["fieldValueByName"]
        return value["name"] if value is not None else None


@pytest.fixture
async def board(emulator: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[BoardWorld]:
    more = {**loop_world.PERMISSIONS, "organization_projects": "write"}
    monkeypatch.setattr(loop_world, "PERMISSIONS", more)
    made = BoardWorld(emulator, tmp_path)
    yield made
    await made.close()


async def test_the_board_moves_the_ticket_shows_its_status_and_a_person_s_move_wins(board: BoardWorld) -> None:
    sha = board.head("release-1")
    board.move("Target release", "1")
    ticket = await Landing.begun(board, ON_BOARD)
    board.http.post(f"/repos/{REPO}/git/refs", json={"ref": "refs/heads/release-2-0", "sha": sha}).raise_for_status()
    assert board.status() == "In Progress"
    since = board.requested()
    await ticket.settle()
    assert board.writes(since) == []
    # A person moves the card: it stays.
    board.move("Status", "Parked")
    await ticket.settle()
    assert (board.status(), (await ticket.record()).projections.board.moved) == ("Parked", "Parked")
    # A release that names no trunk is said, and moves nothing.
    board.move("Target release", "9.9")
    await ticket.settle()
    assert ((await ticket.record()).trunk, ticket.pull()["base"]["ref"]) == ("release-1", "release-1")
    (comment,) = [c["body"] for c in board.get(f"issues/{ticket.pull()['number']}/comments")]
    assert "names no one trunk" in comment
    # One that does moves the ticket, and the base of its PR follows.
    board.move("Target release", "2.0")
    await ticket.settle()
    assert ((await ticket.record()).trunk, ticket.pull()["base"]["ref"]) == ("release-2-0", "release-2-0")
    since = board.requested()
    await ticket.settle()
    assert board.writes(since) == []
    # The ticket's status changes, lands on the new trunk, and is done on the board.
    await ticket.say("ready")
    await ticket.settle()
    assert (ticket.place(), ticket.pull()["merged"], ticket.pull()["base"]["ref"]) == ("done", True, "release-2-0")
    assert board.status() == "Done"
    since = board.requested()
    await ticket.settle()
    assert board.writes(since) == []


async def test_a_board_that_cannot_be_read_or_was_renamed_is_said_once_and_blocks_nothing(board: BoardWorld) -> None:
    board.emulator.change_project_field(board.project["id"], "Status", name="Stage")
    ticket = await Landing.begun(board, ON_BOARD)
    (comment,) = [c["body"] for c in board.get(f"issues/{ticket.pull()['number']}/comments")]
    assert "it has no field" in comment
    since = board.requested()
    await ticket.settle()
    assert board.writes(since) == []
    await ticket.say("ready")
    await ticket.settle()
    assert ticket.place() == "done"


async def test_without_the_permission_the_board_is_not_followed(world: LoopWorld) -> None:
    world.emulator.project("acme", "Plan", fields=FIELDS)
    ticket = await Landing.begun(world, ON_BOARD)
    (comment,) = [c["body"] for c in world.get(f"issues/{ticket.pull()['number']}/comments")]
    assert "Project 1 is not followed" in comment
    since = world.requested()
    await ticket.settle()
    assert world.writes(since) == []


async def test_an_event_of_the_board_reaches_its_ticket_though_it_names_no_repository(board: BoardWorld) -> None:
    controller = board.controller()
    await board.poked()
    issue = board.get(f"issues/{board.ticket}")["node_id"]
    assert (
        await controller._sweeper.poke_named(IssueKey(board.installation, issue)) == f"{REPO}#{board.ticket} was poked"
    )
    assert await board.poked() == [f"{REPO}#{board.ticket}"]
    for nobody in ("I_kwDOAAAAAAAA", board.project["node_id"]):
        assert "no Issue" in await controller._sweeper.poke_named(IssueKey(board.installation, nobody))
    assert await board.poked() == []


async def test_the_line_on_our_board_is_found_among_any_number_of_others(board: BoardWorld) -> None:
    """Strangers may put a public Issue into as many Projects of their own as they like."""
    issue = board.get(f"issues/{board.ticket}")["node_id"]
    query = """mutation($p: ID!, $c: ID!) {
      addProjectV2ItemById(input: {projectId: $p, contentId: $c}) { item { id } } }"""
    remove = """mutation($p: ID!, $i: ID!) {
      deleteProjectV2Item(input: {projectId: $p, itemId: $i}) { deletedItemId } }"""
    board.graphql(remove, p=board.project["node_id"], i=board.item)
    for number in range(14):
        other = board.emulator.project("acme", f"Other {number}", fields=[])
        board.graphql(query, p=other["node_id"], c=issue)
    board.item = board.graphql(query, p=board.project["node_id"], c=issue)["addProjectV2ItemById"]["item"]["id"]
    board.move("Target release", "1")
    ticket = await Landing.begun(board, ON_BOARD)
    assert board.status() == "In Progress"
    view = await ticket.controller._views.look("acme", "shop", board.ticket)
    items = view.observation.around.project_items
    assert items is not None
    (ours,) = [item for item in items if item.number == board.project["number"]]
    assert (len(items), ours.fields["Target release"]) == (15, "1")
