"""What GitHub holds at the end of a story, without anything that differs from run to run."""

import json
import subprocess
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from loop_world import LoopWorld

from app.domain.validation import validations_of
from tests.crash import Call, Play

_GAP = ":gap-g"
"""In the marker of a warning that a holder works on without saving."""


@dataclass(frozen=True)
class EndState:
    """The normalised end of a story."""

    status: str
    generation: int
    completed_steps: tuple[str, ...]
    open_permits: int
    attempts: int
    branch_at_published: bool
    pulls: tuple[tuple[str, bool, str, str], ...]
    handoff_comments: tuple[int, ...]
    """How many stand on each PR."""
    check_runs: tuple[tuple[str, int, str], ...]
    """(the code commit's message, generation, conclusion) of the check-runs on any branch; on a commit that is no
    head any more `superseded` where it was ended without a judgement, and `unfinished`.
    """
    doubled_check_runs: int
    """More than one of a commit and generation. GitHub lets nobody delete a check-run."""
    recovered: int
    """Foreign heads that were kept."""
    ledgers: int
    two_nonces: tuple[int, ...]
    """Generations that had more than one nonce: always none."""
    validations: tuple[tuple[str, int, tuple[str, ...]], ...]
    """(profile, generation, what did not run) of the validations in the record."""
    effects: tuple[tuple[str, str], ...]
    """(key, state) of the effects in the record."""
    carried_out: int
    """How often something was done outside Git."""
    children: tuple[tuple[str, str, int, bool], ...]
    """(name, state, generation, whether its result is sealed in the parent's record) of the ticket's children."""
    tree: str
    """What the published commit holds."""
    issue: tuple[str, int]
    """The Issue's state, and how often it was closed."""
    trunk: tuple[str, ...]
    """The first lines of the trunk's commits, sorted."""
    told: int
    """Comments that the App made, on the Issue and on the PRs, without warnings of a gap."""
    warned: int
    """Warnings that a holder works on without saving."""


def judged(state: EndState, expected: EndState, kind: str, call: Call) -> tuple[EndState, EndState]:
    """Both without what may differ of check-runs, which GitHub lets nobody delete.

    Where the branch went on before a disturbed process had finished the check of a commit, that check is ended but no
    longer judged. A run that comes late may double another one, which it then repeats; and where nobody looks at its
    commit any more it stays as it was born: unfinished, which passes nothing.
    """
    runs = set(state.check_runs)
    if kind in ("very late", "paused") and call.name == "POST check-runs":
        state = replace(state, doubled_check_runs=max(state.doubled_check_runs - 1, 0))
        runs = {run for run in runs if run[2] != "unfinished"}
    told = {(name, generation) for name, generation, conclusion in runs if conclusion != "superseded"}
    runs = {run for run in runs if run[2] != "superseded" or run[:2] not in told}
    ended = {run[:2] for run in runs if run[2] == "superseded"}
    wanted = {(*run[:2], "superseded") if run[:2] in ended else run for run in expected.check_runs}
    state = replace(state, check_runs=tuple(sorted(runs)))
    return state, replace(expected, check_runs=tuple(sorted(wanted)))


async def end_of(play: Play, data: Path) -> EndState:
    """The end of a play; `data` is where the emulator keeps its repositories."""
    world = play.world
    view = await play.controller._views.look("acme", "shop", world.ticket)
    assert view.frozen is None, view.frozen
    assert view.standing is not None
    record = view.standing.record
    assert record.work is not None
    published = record.published.sha if record.published else None
    pulls = sorted(world.get("pulls?state=all"), key=lambda pull: str(pull["head"]["ref"]))
    comments = [
        sum("agent-recovery:handoff:" in c["body"] for c in world.get(f"issues/{pull['number']}/comments"))
        for pull in pulls
    ]
    said = [str(comment["body"]) for comment in world.get("issues/comments")]
    check_runs = _check_runs(play)
    bare = repository_of(data)
    return EndState(
        status=record.status,
        generation=record.generation,
        completed_steps=tuple(step.id for step in record.checkpoint.completed_steps),
        open_permits=len(record.open),
        attempts=record.attempts.count,
        branch_at_published=world.head(record.work.branch) == published,
        pulls=tuple((p["state"], p["draft"], p["head"]["ref"], p["base"]["ref"]) for p in pulls),
        handoff_comments=tuple(comments),
        check_runs=tuple(sorted(set(check_runs))),
        doubled_check_runs=len(check_runs) - len({(name, generation) for name, generation, _ in check_runs}),
        recovered=len(world.get("git/matching-refs/agent-recovery/recovered/")),
        ledgers=len(world.get("git/matching-refs/agent-recovery/active/")),
        two_nonces=_generations_with_two_nonces(bare, f"{'active' if world.ledger() else 'done'}/{world.ticket}"),
        validations=tuple((v.profile, v.generation, v.not_run) for v in validations_of(record)),
        effects=tuple((effect.key, effect.state) for effect in record.effects),
        carried_out=play.carried_out,
        children=tuple((c.name, c.state, c.generation, c.result_commit is not None) for c in view.family.shown(record)),
        tree=git_of(bare, "rev-parse", f"{published}^{{tree}}") if published else "",
        issue=_issue(world),
        trunk=tuple(sorted(c["commit"]["message"].split("\n")[0] for c in world.get("commits?sha=release-1"))),
        told=sum("<!-- agent-recovery" in body and _GAP not in body for body in said),
        warned=sum(_GAP in body for body in said),
    )


def _issue(world: LoopWorld) -> tuple[str, int]:
    events = world.get(f"issues/{world.ticket}/events")
    return world.get(f"issues/{world.ticket}")["state"], sum(e["event"] == "closed" for e in events)


def repository_of(data: Path) -> Path:
    """The one repository of an emulator."""
    return next(data.glob("repos/*.git"))


def _check_runs(play: Play) -> list[tuple[str, int, str]]:
    found = {}
    branches = play.world.get("branches")
    heads = {branch["commit"]["sha"] for branch in branches}
    for branch in branches:
        for commit in play.world.get(f"commits?sha={branch['name']}"):
            for run in play.world.get(f"commits/{commit['sha']}/check-runs?filter=all")["check_runs"]:
                if run["app"]["slug"] != "agent-recovery":
                    # A job of a workflow that the App started.
                    continue
                generation = int(run["external_id"].split(":")[1])
                conclusion = str(run["conclusion"])
                if commit["sha"] not in heads:
                    conclusion = {"cancelled": "superseded", "None": "unfinished"}.get(conclusion, conclusion)
                found[run["id"]] = (commit["commit"]["message"], generation, conclusion)
    return list(found.values())


def _generations_with_two_nonces(bare: Path, place: str) -> tuple[int, ...]:
    shas = git_of(bare, "rev-list", "--first-parent", f"refs/agent-recovery/{place}").split()
    raw = git_of(bare, "cat-file", "--batch", told="".join(f"{sha}:record.json\n" for sha in shas))
    leases = [json.loads(line).get("lease") for line in raw.splitlines() if line.startswith("{")]
    nonces = {(lease["generation"], lease["nonce"]) for lease in leases if lease}
    return tuple(g for g, count in Counter(generation for generation, _ in nonces).items() if count > 1)


def git_of(bare: Path, *arguments: str, told: str | None = None) -> str:
    """What git says of a bare repository."""
    done = subprocess.run(["git", "-C", str(bare), *arguments], input=told, check=True, capture_output=True, text=True)
    return done.stdout.strip()
