"""A ticket with an open, recorded PR, for the rules that keep a PR and a board in line: what a look shows of it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from app.domain.observation import Branch, Issue, Observation, Pull
from app.domain.pull_acts import Act, ActKind
from app.domain.record import Board, Carried, Drafting, Lease, Projections, Published, Record, Work
from app.domain.surroundings import Asked, Column, ProjectItem, Surroundings

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
HEAD, BASE = "a" * 40, "b" * 40
LEASE = Lease(
    generation=3,
    nonce="n",
    holder="agent",
    login="ann",
    claim_id_hash="h",
    granted_at=NOW,
    expires_at=NOW + timedelta(minutes=15),
)
WORK = Work(branch="ticket/42", trunk="release-1", base_sha=BASE)
PULL = Pull(
    number=50,
    node_id="PR_50",
    state="OPEN",
    is_draft=True,
    title="t",
    body="Ticket: #42\n",
    head="ticket/42",
    head_sha=HEAD,
    base="release-1",
    head_repository="acme/shop",
    author="agent-recovery",
)


def act(kind: ActKind, by: str = "ann", what: str = "", id: str = "1") -> Act:
    """One entry of the timeline; by `app` is by the App itself."""
    return Act(id, kind, by, by == "app", NOW, what)


def record(
    status: Any = "working",
    drafting: Drafting | None = None,
    carried: Carried | None = None,
    board: Board | None = None,
    **more: Any,
) -> Record:
    fields: dict[str, Any] = {
        "ticket": 42,
        "sequence": 9,
        "status": status,
        "generation": 3,
        "lease": LEASE,
        "work": WORK,
        "published": Published(sha=HEAD, generation=3, nonce="n"),
        "projections": Projections(
            pr_number=50, drafting=drafting or Drafting(), carried=carried or Carried(), board=board or Board()
        ),
    }
    return Record(**fields | more)


def observation(pull: Pull | None = PULL, **changes: Any) -> Observation:
    """The look. `changes` are of the Issue (`assignees`, `labels`) and of the observation."""
    of_issue = {name: changes.pop(name) for name in ("assignees", "labels") if name in changes}
    seen = Observation(
        now=NOW,
        repository_id=1,
        owner="acme",
        name="shop",
        default_branch="main",
        policy_text=None,
        issue=Issue(42, "t", "", "OPEN", "ann", **of_issue),
        branches=(Branch("ticket/42", HEAD),),
        trunk=Branch("release-1", BASE),
        pulls=(pull,) if pull is not None else (),
        of_organization=True,
    )
    return replace(seen, **changes)


COLUMNS = (
    Column("Status", "SINGLE_SELECT", ("Todo", "In Progress", "In review", "Done")),
    Column("Priority", "SINGLE_SELECT", ("Urgent", "High", "Low")),
    Column("Target release", "TEXT"),
)


def on_board(columns: tuple[Column, ...] = COLUMNS, **fields: str) -> Observation:
    """The look with a line in Project 7; fields by name, `_` for a space."""
    values = {name.replace("_", " "): value for name, value in fields.items()}
    item = ProjectItem(7, "Plan", values, columns)
    return observation(around=Surroundings(asked=Asked(project=True), project_items=(item,)))
