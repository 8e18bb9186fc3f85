"""One world of a ticket that tests look at in its states: held, with published work and a draft PR."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from app.domain.agent_api import EvidenceRequest, VerifyRun
from app.domain.checkpoint import Checkpoint, Step
from app.domain.evidence import with_evidence
from app.domain.fencing import Relation, head_of
from app.domain.lease import liveness
from app.domain.observation import Branch, Issue, Observation, Pull
from app.domain.policy import Mode, Policy
from app.domain.record import Lease, Published, Record, Work
from app.domain.recovery_view import RecoveryView
from app.domain.shown_child import ChildState, ShownChild
from app.domain.surroundings import Surroundings

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
BASE, HEAD, OTHER = "a" * 40, "b" * 40, "c" * 40
BODY = "Do it.\n\n- [ ] write the parser\n- [x] test it\n\n```\n- [ ] not a step\n```\n* [ ] document it\n"
POLICY = Policy(mode=Mode.REPAIR, verify=(("pytest", "-q"),))

CHECKPOINT = Checkpoint(
    objective="Parse",
    completed_steps=(Step(id="1", text="write the parser", sha=HEAD),),
    next_steps=(Step(id="2", text="test it"),),
    accepted_decisions=("use a table",),
)
LEASE = Lease(
    generation=2,
    nonce="n2",
    holder="agent-b",
    login="octo",
    claim_id_hash="h",
    granted_at=NOW - timedelta(seconds=30),
    expires_at=NOW + timedelta(minutes=14),
)
RECORD = Record(
    ticket=42,
    sequence=7,
    status="working",
    generation=2,
    lease=LEASE,
    work=Work(branch="ticket/42-parser", trunk="release-1", base_sha=BASE),
    published=Published(sha=HEAD, generation=2, nonce="n2"),
    checkpoint=CHECKPOINT,
)
PULL = Pull(
    number=57,
    node_id="PR_57",
    state="OPEN",
    is_draft=True,
    title="t",
    body="Ticket: #42\n",
    head="ticket/42-parser",
    head_sha=HEAD,
    base="release-1",
    head_repository="octo/demo",
)
WORLD = Observation(
    now=NOW,
    repository_id=1,
    owner="octo",
    name="demo",
    default_branch="main",
    policy_text="",
    issue=Issue(number=42, title="Add a <parser> @all", body=BODY, state="OPEN", author="octo"),
    branches=(Branch("ticket/42-parser", HEAD),),
    trunk=Branch("release-1", BASE),
    pulls=(PULL,),
)


def evidence(head: str = HEAD, *, clean: bool = True, exit_code: int = 0) -> EvidenceRequest:
    run = VerifyRun(command=("pytest", "-q"), exit_code=exit_code)
    return EvidenceRequest(key="k" * 8, seq=1, head_sha=head, clean=clean, verify=(run,))


def view(
    record: Record | None = RECORD,
    world: Observation = WORLD,
    shown: EvidenceRequest | None = None,
    relation: Relation | None = None,
    policy: Policy | None = POLICY,
) -> RecoveryView:
    head = head_of(record, world, relation) if record is not None else None
    if record is not None and shown is not None and policy is not None:
        record = with_evidence(record, shown, policy.verify, world.around, now=world.now)
    holder = liveness(record, POLICY, now=world.now)
    return RecoveryView(record, world, policy, holder, head, shown)


def changed(**fields: Any) -> Record:
    return RECORD.model_copy(update=fields)


def noted(**fields: Any) -> Record:
    return changed(checkpoint=CHECKPOINT.model_copy(update=fields))


def around(policy: Policy = POLICY, record: Record = RECORD, world: Observation = WORLD, **fields: Any) -> RecoveryView:
    """The same ticket in other surroundings."""
    return view(record, replace(world, around=Surroundings(**fields)), policy=policy)


def with_children(*states: ChildState) -> RecoveryView:
    """The same ticket with children in these states."""
    shown = [ShownChild(name=f"child-{n}", state=s, because=f"because it is {s}") for n, s in enumerate(states)]
    return replace(view(), children=tuple(shown))
