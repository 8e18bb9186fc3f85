"""The fenced push: the ticket branch and the ledger in one atomic push, with the checkpoint in the ledger's commit.

It needs git and the remote only, so it works while the service is down (the ownership protocol, R14). Foreign commits
on the branch are named, never overwritten or taken over by accident: `adopt` and `push --rewind` are the two ways on.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from app.agent import last_save, next_checkpoint, soft_checkpoints, writes
from app.agent.environment import usage
from app.agent.git_faults import refused_by_git
from app.agent.held import FILE, HeldLease, Identity, held_lease, identity
from app.agent.home import Home
from app.agent.show import DetailedRefusal, warn
from app.agent.workspace import Workspace
from app.domain.checkpoint import Change, Checkpoint
from app.domain.outcome import Blocked, Code, Refused
from app.domain.triggers import Trigger
from app.ledger import git_outcomes
from app.ledger.agent_commits import Integrated
from app.ledger.git import GitLedger

Status = Literal["working", "waiting"]


@dataclass(frozen=True)
class Plan:
    """What a push is about to publish."""

    lease: HeldLease
    identity: Identity
    code_sha: str
    status: Status
    checkpoint: Checkpoint
    changes: tuple[Change, ...]
    left_behind: tuple[str, ...]
    """Changed and untracked files that stay on this machine."""
    uses_lfs: bool
    """The commit keeps files in git-lfs, whose own upload is a hook, and no hook runs in our push."""


def plan(home: Home, status: Status, at: Trigger | None = None, *, told: dict[str, Any] | None = None) -> Plan:
    """What `push` would publish now; `told`: what the agent tells, by default what stands in next.json. Raises Refused;
    writes nothing.
    """
    lease = held_lease(home)
    workspace = Workspace(home)
    code_sha = workspace.branch_head(lease.branch)
    if code_sha is None or workspace.current_branch() != lease.branch:
        raise usage(
            f"the ticket branch {lease.branch} is not checked out here",
            f"git checkout {lease.branch}, with your commits on it",
        )
    if lease.published_sha is None and code_sha == lease.base_sha:
        raise Refused(
            Blocked(
                Code.NOT_PUBLISHED,
                f"{lease.branch} has no commit of its own: nothing to publish",
                "commit your work first; without code, use `agent-recovery checkpoint`",
            )
        )
    state = workspace.state()
    who = identity(home)
    notes = _told(home, who) if told is None else told
    written = {**notes, "checkpoint_sha_or_snapshot": code_sha, "trigger": at.value if at else None}
    content = next_checkpoint.with_local_facts(written, state, published=code_sha)
    checkpoint, changes = next_checkpoint.admitted(home, content)
    return Plan(
        lease=lease,
        identity=who,
        code_sha=code_sha,
        status=status,
        checkpoint=checkpoint,
        changes=changes,
        left_behind=(*state.changed, *state.untracked),
        uses_lfs=workspace.uses_lfs(code_sha),
    )


def _told(home: Home, who: Identity) -> dict[str, Any]:
    """What the agent tells a successor: next.json, else, where that is lost, the latest soft checkpoint's text."""
    last = None if next_checkpoint.exists(home) else soft_checkpoints.newest(home, soft_checkpoints.Place.of(who))
    return next_checkpoint.read(home) if last is None else last.checkpoint


def promote(home: Home, planned: Plan) -> tuple[str, ...]:
    """After a push: the soft checkpoints it made hard are removed. The push stands, whatever becomes of them."""
    try:
        return soft_checkpoints.promote(home, soft_checkpoints.Place.of(planned.identity), planned.code_sha)
    except Refused as refused:
        warn(f"pushed, but old soft checkpoints could not be removed: {refused.blocked.reason}")
        return ()


def adopting(planned: Plan, sha: str) -> Plan:
    """The plan with the adoption on record, for people and successors."""
    note = f"adopted the foreign commits up to {sha}"
    if note in planned.checkpoint.accepted_decisions:
        return planned
    decisions = (*planned.checkpoint.accepted_decisions, note)
    return replace(planned, checkpoint=planned.checkpoint.model_copy(update={"accepted_decisions": decisions}))


def publish(
    home: Home,
    planned: Plan,
    *,
    adopted: str | None = None,
    rewind: bool = False,
    rebased: bool = False,
    integrated: Sequence[Integrated] = (),
) -> git_outcomes.Pushed:
    """Carries the plan out. `adopted` is the foreign head that the branch may stand at; `rewind` puts the branch back;
    `rebased`: the commits take the place of what is published; `integrated` are results of children that the commit
    contains.

    Raises Refused; foreign commits come as `DetailedRefusal`, named.
    """
    lease = planned.lease
    ledger = ledger_of(home, lease)
    outcome: git_outcomes.Pushed | git_outcomes.NotPushed
    for _ in range(writes.TRIES):
        body: dict[str, Any] = {
            "code_sha": planned.code_sha,
            "status": planned.status,
            "checkpoint": planned.checkpoint.model_dump(mode="json", exclude_defaults=True),
            # What may be done to the branch belongs to the request: else a plain push's key would answer a rewind.
            "adopt": adopted,
            "rewind": rewind,
            **({"rebased": True} if rebased else {}),
            "integrated": [merged.result.model_dump(mode="json") for merged in integrated],
        }
        waiting = writes.unanswered(home, planned.identity, "push")
        begun = writes.begin(home, planned.identity, "push", body)
        outcome = ledger.fenced_push(
            planned.identity.token,
            lease.branch,
            planned.code_sha,
            checkpoint=planned.checkpoint,
            status=planned.status,
            request=(begun.key, begun.seq),
            adopt=adopted,
            rewind=rewind,
            rebased=rebased,
            integrated=integrated,
        )
        if isinstance(outcome, git_outcomes.Withdrawn):
            # Nothing was pushed under the key: with the fence commit in it the work is another.
            writes.settle(home, planned.identity, "push")
            planned = _past_fence(home, planned, ledger, outcome)
            continue
        if not isinstance(outcome, git_outcomes.Outnumbered):
            break
        # The ledger does not know the key, so nothing was pushed under it: the number is learnt, the push is new.
        writes.settle(home, planned.identity, "push")
        if not writes.learn(home, planned.identity, outcome.highest) and begun != waiting:
            break
    if isinstance(outcome, git_outcomes.KeyUsed):
        writes.settle(home, planned.identity, "push")
    if not isinstance(outcome, git_outcomes.Pushed):
        raise refusal(outcome, lease)
    writes.settle(home, planned.identity, "push")
    home.save(FILE, lease.model_copy(update={"ledger_head": outcome.ledger_commit, "published_sha": outcome.code_sha}))
    last_save.note(home, planned.identity, body["checkpoint"], planned.checkpoint.trigger)
    return outcome


def _past_fence(home: Home, planned: Plan, ledger: GitLedger, withdrawn: git_outcomes.Withdrawn) -> Plan:
    """The plan with the service's fence commit in the work. The ticket branch of this clone moves first: it changes no
    file, so the work tree stays as it is, and a push that is cut off afterwards is simply run again.
    """
    code_sha = follow_fence(home, planned.lease.branch, planned.code_sha, ledger, withdrawn)
    checkpoint = planned.checkpoint.model_copy(update={"checkpoint_sha_or_snapshot": code_sha})
    return replace(planned, code_sha=code_sha, checkpoint=checkpoint)


def follow_fence(home: Home, branch: str, code_sha: str, ledger: GitLedger, withdrawn: git_outcomes.Withdrawn) -> str:
    """Takes a fence commit into the work; returns where the work is now. Raises Refused where git cannot."""
    try:
        after = ledger.past_fence(code_sha, withdrawn)
    except OSError as failed:
        raise usage(f"the withdrawn commit {withdrawn.on[:12]} cannot be followed: {failed}", "try again") from None
    Workspace(home).follow(branch, code_sha, after)
    return after


def ledger_of(home: Home, lease: HeldLease) -> GitLedger:
    """The lease's ledger, reached by git from this clone."""
    return GitLedger(
        clone=home.root,
        ledger_ref=lease.ledger_ref,
        repository_id=lease.repository_id,
        ticket=lease.ticket,
        namespace=lease.namespace,
        public_keys=lease.keys(),
        address=lease.git_url,
    )


def refusal(outcome: git_outcomes.NotPushed, lease: HeldLease) -> Refused:
    """What a push, or a look at the ledger, that came to nothing is told as."""
    if isinstance(outcome, git_outcomes.Foreign):
        return foreign_commits(outcome.head, outcome.commits, lease)
    if isinstance(outcome, git_outcomes.FencedOut):
        return Refused(
            Blocked(
                Code.STALE_GENERATION,
                outcome.reason,
                f"stop: somebody else holds the ticket. `agent-recovery brief {lease.ticket}` shows who; "
                "your commits are still in this clone",
                holder=outcome.holder,
                generation=outcome.generation,
            )
        )
    if isinstance(outcome, git_outcomes.OnHold):
        remedy = "stop, and keep your commits in this clone: the same push passes once it is off hold"
        return Refused(Blocked(Code.HELD, outcome.reason, remedy, retryable=True, generation=outcome.generation))
    if isinstance(outcome, git_outcomes.Withdrawn):
        reason = f"the service withdrew {outcome.on[:12]} by {outcome.fence[:12]}, several times over"
        return Refused(Blocked(Code.LOST_RACE, reason, "run `agent-recovery push` again", retryable=True))
    if isinstance(outcome, git_outcomes.Outnumbered):
        remedy = "run `agent-recovery push` again: it says what you know now"
        return Refused(Blocked(Code.STALE_REQUEST, outcome.reason, remedy, retryable=True))
    if isinstance(outcome, git_outcomes.KeyUsed):
        remedy = "run `agent-recovery push` again: it is sent with a key of its own"
        return Refused(Blocked(Code.USAGE, f"nothing was pushed: {outcome.reason}", remedy))
    if isinstance(outcome, git_outcomes.LostRace):
        return Refused(Blocked(Code.LOST_RACE, outcome.reason, "run `agent-recovery push` again", retryable=True))
    if isinstance(outcome, git_outcomes.Unheard):
        return Refused(
            Blocked(Code.UNAVAILABLE, outcome.reason, "run `agent-recovery push` again: nothing happens twice", True)
        )
    if isinstance(outcome, git_outcomes.Distrusted):
        return Refused(
            Blocked(
                Code.FROZEN,
                outcome.reason,
                "stop: a person must look at the ticket. Your commits are still in this clone",
            )
        )
    if isinstance(outcome, git_outcomes.Declined):
        reason = outcome.reason
        if outcome.in_the_way is not None:
            reason = f"the branch {outcome.in_the_way} exists, so git cannot make {lease.branch} beside it ({reason})"
        return refused_by_git("the push was refused", reason, outcome.fault)
    return Refused(Blocked(Code.USAGE, f"the push was refused: {outcome.reason}", "mend that and push again"))


def foreign_commits(head: str, commits: Sequence[tuple[str, str, str]], lease: HeldLease) -> DetailedRefusal:
    """The refusal that names the commits on the branch which nobody pushed under this lease: quoted, as data."""
    lines = [f"  {sha} {json.dumps(subject[:120])} by {json.dumps(author[:80])}" for sha, subject, author in commits]
    return DetailedRefusal(
        Blocked(
            Code.FOREIGN_COMMITS,
            f"{lease.branch} stands at {head}, which was not pushed under this lease ({len(commits)} foreign commits)",
            f"take them into your work: `agent-recovery adopt {head}`; or put the branch back (they are kept aside): "
            "`agent-recovery push --rewind`",
        ),
        details={
            "foreign": {
                "head": head,
                "commits": [{"sha": sha, "subject": subject, "author": author} for sha, subject, author in commits],
            },
            "commands": [["agent-recovery", "adopt", head], ["agent-recovery", "push", "--rewind"]],
        },
        lines=tuple(lines),
    )
