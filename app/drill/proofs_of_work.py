"""Proofs of the recovery itself: what must stand on GitHub after each step from installing to `ready`.

Every proof is a function of an `Observer` and of what the story did; it looks once and answers. A story asks it again
until it is proved or its patience ends. None of them looks at an answer of the App.
"""

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, ParamSpec

from github import GithubException

from app.drill.git_reader import LedgerCommit
from app.drill.observer import AppIdentity, Observer, checkpoint_in
from app.drill.proof import NotProved, Proof, Proved, Unproved

P = ParamSpec("P")
POLICY = ".github/agent-recovery.yml"
LIST_OF_REFS = "/git-upload-pack"
"""How the service reads which ledgers are in progress: by git, which lists the refs in one answer."""


def looks(
    proof: Callable[Concatenate[Observer, P], Proved],
) -> Callable[Concatenate[Observer, P], Proof]:
    """A proof that raises `Unproved` from its look-ups, as one that answers with a value."""

    def answer(observer: Observer, /, *args: P.args, **kwargs: P.kwargs) -> Proof:
        try:
            return proof(observer, *args, **kwargs)
        except Unproved as missing:
            return NotProved(missing.why)
        except GithubException as error:
            return NotProved(f"GitHub answered {error.status} to a look-up")
        except subprocess.CalledProcessError as error:
            return NotProved(f"git could not read the repository: {str(error.stderr or '')[-300:]}")

    answer.__doc__ = proof.__doc__
    return answer


def require(condition: object, why: str) -> None:
    if not condition:
        raise Unproved(why)


@dataclass(frozen=True)
class Place:
    """What a story works on: the names it chose itself."""

    app: AppIdentity
    ticket: int
    default_branch: str
    trunk: str
    branch: str


@looks
def installed(observer: Observer, place: Place) -> Proved:
    """The App is installed on a repository with a trunk, a policy file and an open ticket."""
    installation = observer.installation(place.app)
    default, trunk = observer.branch(place.default_branch), observer.branch(place.trunk)
    blob, text = observer.file(POLICY, place.default_branch)
    require("mode: repair" in text, "the policy does not say mode: repair")
    issue = observer.repository.get_issue(place.ticket)
    require(issue.state == "open" and issue.pull_request is None, f"#{place.ticket} is not an open Issue")
    return Proved(
        f"{place.app.slug} is installed on {observer.full_name}; ticket #{place.ticket}, trunk {place.trunk}",
        {
            "installation_id": installation,
            "repository": observer.full_name,
            place.default_branch: default,
            place.trunk: trunk,
            "policy_blob": blob,
            "issue": issue.html_url,
        },
    )


@looks
def claimed(observer: Observer, place: Place, *, generation: int) -> Proved:
    """The ledger stands under `active/` and its lease is of this generation."""
    first = _first_of(observer.ledger(place.ticket), generation)
    lease = first.record["lease"]
    require(f"Recovery-Generation: {generation}" in first.commit.message, "the ledger commit names no generation")
    return Proved(
        f"generation {generation} holds #{place.ticket}",
        {
            "ledger": f"refs/agent-recovery/active/{place.ticket}",
            "ledger_commit": first.sha,
            "generation": generation,
            "nonce": lease["nonce"],
            "login": lease["login"],
        },
    )


@looks
def work_pushed(observer: Observer, place: Place, *, generation: int) -> Proved:
    """The branch stands at a commit that the ledger calls published under the present lease."""
    head = observer.branch(place.branch)
    entries = observer.ledger(place.ticket)
    newest = entries[0]
    require(newest.generation == generation, f"the ledger is at generation {newest.generation}")
    require(newest.counts and newest.published["sha"] == head, "the ledger does not call the branch's head published")
    commits = observer.git.commits(f"{observer.branch(place.trunk)}..{head}")
    steps = [step for c in commits for step in c.steps]
    require(steps, "no commit over the trunk names a step")
    fencing = next((e for e in entries if head in e.commit.parents[1:]), None)
    require(fencing, "no ledger commit holds the pushed commit as its second parent")
    assert fencing is not None
    return Proved(
        f"{len(commits)} commit(s) on {place.branch}, pushed together with the ledger",
        {"head": head, "steps": sorted(steps), "ledger_commit": fencing.sha, "generation": generation},
    )


@looks
def pr_created(observer: Observer, place: Place) -> Proved:
    """Exactly one pull request of the branch: a Draft by the App, to the trunk, naming its ticket in the first line."""
    pull = observer.only_pull(place.branch)
    require(pull.state == "open", f"pull request #{pull.number} is {pull.state}")
    require(pull.user.login == place.app.login, f"#{pull.number} is by {pull.user.login}, not by the App")
    require(pull.draft, f"#{pull.number} is no Draft")
    require(pull.base.ref == place.trunk, f"#{pull.number} goes to {pull.base.ref}, not to {place.trunk}")
    first_line = (pull.body or "").splitlines()[:1]
    require(first_line == [f"Ticket: #{place.ticket}"], f"#{pull.number} does not name its ticket in its first line")
    return Proved(
        f"Draft #{pull.number} {place.branch} → {place.trunk}, linked to #{place.ticket}",
        {"number": pull.number, "url": pull.html_url, "head": pull.head.sha, "base": pull.base.ref},
    )


@looks
def comment(observer: Observer, place: Place) -> Proved:
    """One handoff comment of the App on the pull request, with the ledger's whole checkpoint."""
    pull = observer.only_pull(place.branch)
    handoffs = [c for c in observer.comments(pull.number, place.app) if "<details>" in c.body]
    require(len(handoffs) == 1, f"{len(handoffs)} handoff comments on #{pull.number}, not one")
    shown = checkpoint_in(handoffs[0].body)
    entry = _entry_with(observer.ledger(place.ticket), shown, "the handoff comment")
    return Proved(
        f"handoff comment with the whole checkpoint of sequence {entry.sequence}",
        {"comment_id": handoffs[0].id, "url": handoffs[0].html_url, "ledger_commit": entry.sha},
    )


@looks
def check(observer: Observer, place: Place) -> Proved:
    """One check-run on the branch's head, pointing to a commit of the ledger and holding its checkpoint."""
    head = observer.branch(place.branch)
    runs = observer.check_runs(head, place.app)
    require(runs, f"no check-run of the App on {head[:12]}")
    run = max(runs, key=lambda r: r.id)
    ledger = observer.ledger(place.ticket)
    entry = ledger_commit_of(run.external_id, place.ticket, ledger)
    shown = checkpoint_in(run.output.text)
    _entry_with(ledger, shown, "the check-run")
    return Proved(
        f"check-run on {head[:12]} shows generation {entry.generation}, sequence {entry.sequence}",
        {
            "check_run_id": run.id,
            "url": run.html_url,
            "external_id": run.external_id,
            "status": run.conclusion or run.status,
            "head": head,
            "ledger_commit": entry.sha,
        },
    )


@dataclass(frozen=True)
class Death:
    """What is left of an agent that was killed: its exit code, its workspace, and the head it had pushed."""

    exit_code: int | None
    workspace: Path
    pushed: str


@looks
def killed(observer: Observer, place: Place, death: Death) -> Proved:
    """The agent died by SIGKILL with work that only its own machine had: commits and an edit; GitHub has none of it."""
    _killed("the agent", death.exit_code)
    head = observer.branch(place.branch)
    require(head == death.pushed, f"the branch stands at {head[:12]}, not where the agent pushed it")
    local = workspace_git(death.workspace, "rev-list", f"{head}..HEAD").split()
    dirty = workspace_git(death.workspace, "status", "--porcelain").splitlines()
    require(local, "the agent left no unpushed commit")
    require(dirty, "the agent left no uncommitted edit")
    return Proved(
        f"the first agent died with {len(local)} unpushed commit(s) and {len(dirty)} dirty file(s)",
        {"exit_code": death.exit_code, "unpushed": local, "dirty": [d[3:] for d in dirty], "branch_head": head},
    )


@dataclass(frozen=True)
class ServiceLoss:
    """How the service was lost and came back. `reads_since`: what GitHub has served to the App since the restart."""

    exit_code: int | None
    database_gone: bool
    old_pid: int
    new_pid: int
    reads_since: Sequence[str]


@looks
def service_lost(observer: Observer, place: Place, loss: ServiceLoss) -> Proved:
    """The service died by SIGKILL, its database was deleted, and a new process has read the active index since."""
    _killed("the service", loss.exit_code)
    require(loss.database_gone, "the database was not deleted")
    require(loss.new_pid != loss.old_pid, "the same process goes on")
    index = [path for path in loss.reads_since if path.endswith(LIST_OF_REFS)]
    require(index, "GitHub has not seen the new process read the index of ledgers in progress")
    ledger = observer.ledger_ref(place.ticket)
    return Proved(
        "the service was killed, its database deleted; a new one found the ticket on GitHub",
        {"old_pid": loss.old_pid, "new_pid": loss.new_pid, "read": index[0], "ledger_commit": ledger},
    )


@looks
def recovered(observer: Observer, place: Place, *, before: LedgerCommit, published: str) -> Proved:
    """Generation + 1 stands on top of the dead lease's ledger, has given its evidence, and fences the same head."""
    entries = observer.ledger(place.ticket)
    generation = before.generation + 1
    claim = _first_of(entries, generation)
    require(any(e.sha == before.sha for e in entries), "the ledger does not descend from the one before")
    require(claim.nonce and claim.nonce != before.nonce, "the new lease has the nonce of the old one")
    evidence = next(
        (
            e
            for e in reversed(entries)
            if e.generation == generation and e.record["status"] != "recovering" and e.counts
        ),
        None,
    )
    require(evidence, f"generation {generation} has not given its evidence yet")
    assert evidence is not None
    require(evidence.published["sha"] == published, "the new lease does not fence the head that was pushed")
    return Proved(
        f"generation {generation} took over at {published[:12]}",
        {
            "generation": generation,
            "nonce": claim.nonce,
            "claim_commit": claim.sha,
            "evidence_commit": evidence.sha,
            "published": published,
        },
    )


@looks
def workspace_exact(
    observer: Observer, place: Place, *, workspace: Path, published: str, left_behind: Sequence[str]
) -> Proved:
    """The new workspace began at exactly the pushed head, and everything it pushed since stands on it."""
    born = workspace_git(workspace, "reflog", "show", "--format=%H", f"refs/heads/{place.branch}").split()[-1:]
    require(born == [published], f"the workspace began at {born or 'no commit'}, not at {published[:12]}")
    head = observer.branch(place.branch)
    observer.git.fetch()
    own = [c.sha for c in reversed(observer.git.commits(f"{published}..{head}"))]
    require(own, "the second agent has pushed nothing yet")
    first = observer.git.commits(own[0], "--max-count=1")[0]
    require(first.parents == (published,), "its first commit does not stand on the pushed head")
    foreign = set(left_behind) & set(own)
    require(not foreign, f"unpushed work of the dead agent is in it: {sorted(foreign)}")
    return Proved(
        f"the workspace began at {published[:12]} exactly",
        {"workspace_head": published, "first_commit": own[0], "its_parent": published},
    )


@looks
def no_step_redone(observer: Observer, place: Place, *, steps: Sequence[str], done_before: Sequence[str]) -> Proved:
    """Every step has exactly one commit on the published branch; those of the first agent are still its own."""
    head = observer.branch(place.branch)
    observer.git.fetch()
    commits = observer.git.commits(f"{observer.branch(place.trunk)}..{head}")
    by_step: dict[str, list[str]] = {step: [] for step in steps}
    for c in commits:
        for step in c.steps:
            by_step.setdefault(step, []).append(c.sha)
    missing = [step for step, shas in by_step.items() if not shas]
    twice = [step for step, shas in by_step.items() if len(shas) > 1]
    require(not missing, f"steps without a commit: {', '.join(missing)}")
    require(not twice, f"steps with more than one commit: {', '.join(twice)}")
    old = {c.sha for c in commits} & set(done_before)
    require(done_before and len(old) == len(done_before), "commits of the first agent are not on the branch any more")
    return Proved(
        f"{len(by_step)} steps, one commit each; {len(old)} of them from before the recovery",
        {"commits": {step: shas[0] for step, shas in by_step.items()}, "from_generation_1": sorted(old)},
    )


@looks
def ready(observer: Observer, place: Place, *, generation: int, steps: Sequence[str]) -> Proved:
    """The ledger says `ready` under the present lease, for the branch's head, with every step completed; the handoff
    comment and the check-run have followed it.
    """
    newest = observer.ledger(place.ticket)[0]
    require(newest.record["status"] == "ready", f"the ledger says {newest.record['status']}, not ready")
    require(newest.generation == generation, f"the ledger is at generation {newest.generation}")
    head = observer.branch(place.branch)
    require(newest.counts and newest.published["sha"] == head, "what is ready is not what the branch shows")
    completed = {step["id"] for step in newest.record["checkpoint"]["completed_steps"]}
    require(completed == set(steps), f"completed are steps {sorted(completed)}")
    require("ed25519:" in newest.commit.message, "the service has not sealed it")
    for name, image in (("handoff comment", comment(observer, place)), ("check-run", check(observer, place))):
        if isinstance(image, NotProved):
            raise Unproved(image.why)
        shown = next(e for e in observer.ledger(place.ticket) if e.sha == image.evidence["ledger_commit"])
        follows = shown.record["status"] == "ready" and shown.generation == generation
        require(follows, f"the {name} still shows sequence {shown.sequence}, {shown.record['status']}")
    return Proved(
        f"generation {generation} is ready at {head[:12]}",
        {"ledger_commit": newest.sha, "sequence": newest.sequence, "head": head, "completed": sorted(completed)},
    )


def workspace_git(workspace: Path, *arguments: str) -> str:
    """What git says in an agent's workspace, read only. Raises CalledProcessError."""
    return subprocess.run(
        ["git", "--no-optional-locks", "-C", str(workspace), *arguments], check=True, capture_output=True, text=True
    ).stdout


def ledger_commit_of(external_id: str | None, ticket: int, entries: Sequence[LedgerCommit]) -> LedgerCommit:
    """The ledger commit that a check-run's `external_id` (`42:3:17:<12 characters>`) names. Raises `Unproved`."""
    for part in (external_id or "").split():
        pieces = part.split(":")
        if len(pieces) == 4 and pieces[0] == str(ticket):
            for entry in entries:
                if entry.sha.startswith(pieces[3]) and pieces[1:3] == [str(entry.generation), str(entry.sequence)]:
                    return entry
    raise Unproved(f"the check-run's external id {external_id!r} names no commit of the ledger")


def _killed(who: str, exit_code: int | None) -> None:
    require(exit_code is not None, f"{who} was not killed: it still runs")
    require(exit_code == -9, f"{who}'s exit code is {exit_code}, not that of SIGKILL")


def _first_of(entries: Sequence[LedgerCommit], generation: int) -> LedgerCommit:
    found = next((e for e in reversed(entries) if e.record.get("lease") and e.generation == generation), None)
    if found is None:
        raise Unproved(f"no ledger commit has a lease of generation {generation}")
    return found


def _entry_with(entries: Sequence[LedgerCommit], shown: dict[str, Any], where: str) -> LedgerCommit:
    """The ledger commit whose checkpoint is shown whole. Raises `Unproved`."""
    for entry in entries:
        if _known(entry.record["checkpoint"]) == _known(shown):
            return entry
    raise Unproved(f"the checkpoint in {where} is that of no ledger commit")


def _known(checkpoint: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in checkpoint.items() if value not in (None, [], "")}
