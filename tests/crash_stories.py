"""The stories that are played with every call disturbed, and what agents do in them.

Agents behave as the command line does: a key and a number are fixed before the first try, a call without an answer is
repeated with them, and a command of an effect that was begun and whose end nobody saw is never run again.
"""

import secrets

from loop_world import REPO, Agent, claims_of
from plain_push import branch_ref, pushed

from app.controller.controller import Controller
from app.domain.agent_api import CheckpointRequest, ClaimRequest, EvidenceRequest, Grant, HandoffRequest
from app.domain.child_api import ResultRequest, SpawnRequest, Task
from app.domain.child_contract import SealedResult
from app.domain.children import integrable, listed
from app.domain.effect import Kind
from app.domain.effect_api import EffectDispatch, EffectIntent, EffectLook, EffectOutcome
from app.domain.effect_probe import TagProbe
from app.domain.model import ZERO_SHA
from app.domain.outcome import Blocked, Code, Refused
from app.domain.push_rules import Command
from app.domain.record import Record
from app.domain.ticket_id import Child, TicketId
from app.domain.validation import Validation
from app.domain.validation_api import ValidationRequest
from app.ledger.agent_commits import Integrated
from app.ledger.git_outcomes import Pushed, Seen
from tests.crash import MAX_REPEATS, Call, Play, Reach, Story

RECEIVE_PACK = r"\.git/git-receive-pack$"
AT = ("acme", "shop")
RETAINED_S = 91 * 86400
"""Longer than the ledger of an ended ticket is kept whole."""


async def claim(play: Play, claim_id: str, generation: int = 0, ticket: TicketId | None = None) -> Agent:
    """Claim, and hand in the evidence."""
    on = play.world.ticket if ticket is None else ticket
    request = ClaimRequest(claim_id=claim_id, observed_generation=generation, holder="agent")
    grant: Grant = await play.call(lambda c: c.claim(*AT, on, request, "wanda"))
    evidence = EvidenceRequest(key=f"evidence-{claim_id}", seq=1, head_sha=grant.head_sha, clean=True)
    await play.call(lambda c: c.evidence(*AT, on, claims_of(grant), evidence))
    return play.world.agent(grant)


def next_number(agent: Agent) -> int:
    """The number of the holder's next write."""
    agent._seq += 1
    return int(agent._seq)


async def push(play: Play, agent: Agent, step: str) -> None:
    """Work on a step, and push it."""
    await push_commit(play, agent, agent.work(step), step)


async def push_commit(play: Play, agent: Agent, sha: str, step: str, integrated: tuple[Integrated, ...] = ()) -> None:
    """Push a commit, as an agent that tries again with the same key until it knows that it was carried out."""
    request = (secrets.token_hex(8), next_number(agent))

    def deed() -> object:
        return agent.push_commit(sha, step, request=request, integrated=integrated)

    for number in range(MAX_REPEATS):
        done = await play.by_agent(Call(Reach.PUSH, "git push"), deed, RECEIVE_PACK)
        if isinstance(done, Pushed):
            return
        play.world.emulator.advance(2**number)
    raise AssertionError(f"not pushed: {done}")


async def push_plainly(play: Play, agent: Agent, step: str) -> None:
    """Push by plain git, through the service."""
    sha = agent.work(step)

    async def deed(controller: Controller) -> None:
        # As git does: it asks first where the branch stands, and sends nothing where nothing is left to send.
        stands = play.world.head(agent.grant.branch)
        if stands == sha:
            return
        having = [stands] if stands else []
        report = await pushed(controller, agent, Command(branch_ref(agent), stands or ZERO_SHA, sha), having=having)
        if not report.moved:
            raise Refused(Blocked(Code.LOST_RACE, "; ".join(report.reasons), "push again", retryable=True))

    await play.call(deed)


async def save(play: Play, agent: Agent, status: str = "working") -> None:
    """A checkpoint through the service."""
    body = {"completed_steps": [{"id": "one", "text": "one"}], "next_steps": [{"text": "more"}]}
    request = CheckpointRequest(key=f"checkpoint-{status}", seq=next_number(agent), checkpoint=body, status=status)
    await play.call(lambda c: c.checkpoint(*AT, play.world.ticket, claims_of(agent.grant), request))


async def validate(play: Play, agent: Agent, sha: str) -> None:
    """What was checked on a commit, recorded."""
    made = Validation(profile="unit", version="3", validated_sha=sha, completed=("a",), not_run=("b",))
    request = ValidationRequest(key="validation-1", seq=next_number(agent), validation=made)
    await play.call(lambda c: c.validation(*AT, play.world.ticket, claims_of(agent.grant), request))


async def carry_out(play: Play, agent: Agent, key: str, *, tells: bool = True) -> None:
    """Make a tag through the journal of effects; with `tells` its end is told, and looked for where it is not known."""
    claims, place = claims_of(agent.grant), (*AT, play.world.ticket)
    intent = EffectIntent(
        key=f"intend-{key}", seq=next_number(agent), effect=key, kind=Kind.TAG, probe=TagProbe(name=key)
    )
    await play.call(lambda c: c.intend_effect(*place, claims, intent))
    asked = EffectDispatch(key=f"dispatch-{key}", seq=next_number(agent), attempt=f"attempt-{key}")
    answer = await play.call(lambda c: c.dispatch_effect(*place, claims, key, asked))
    assert answer.effect is not None
    assert answer.effect.go

    def command() -> bool:
        play.carried_out += 1
        play.world.git(agent.folder, "push", "-q", "origin", f"{agent.grant.head_sha}:refs/tags/{key}")
        return True

    heard = await play.by_agent(Call(Reach.COMMAND, "the command"), command)
    if not tells:
        return
    told = EffectOutcome(
        key=f"result-{key}",
        seq=next_number(agent),
        attempt=f"attempt-{key}",
        outcome="confirmed" if heard else "unknown",
    )
    await play.call(lambda c: c.report_effect(*place, claims, key, told))
    if not heard:
        look = EffectLook(key=f"look-{key}", seq=next_number(agent))
        await play.call(lambda c: c.probe_effect(*place, claims, key, look))


async def spawn(play: Play, parent: Agent, name: str) -> None:
    """Give a part of the ticket to a child."""
    request = SpawnRequest(
        key=f"spawn-{name}-1", seq=next_number(parent), name=name, task=Task(objective=f"Write {name}")
    )
    await play.call(lambda c: c.spawn(*AT, play.world.ticket, claims_of(parent.grant), request))
    play.tickets.append(Child(play.world.ticket, name))


async def complete(play: Play, worker: Agent) -> None:
    """Give a child's result."""
    told = ResultRequest(key="completion-1", seq=next_number(worker), outcome="completed", summary="It is written.")
    child = worker.grant.ticket
    await play.call(lambda c: c.result(*AT, child, claims_of(worker.grant), told))


async def integrate(play: Play, parent: Agent, name: str) -> None:
    """Merge a child's result and note it, in one push."""
    seen = parent.ledger.look(parent.grant.branch)
    assert isinstance(seen, Seen)
    record = seen.entries[0].record
    assert isinstance(record, Record)
    entry = next(child for child in listed(record) if child.name == name)
    found = parent.ledger.children([entry])
    assert isinstance(found, dict)
    result = integrable(entry, found[name], record, True)
    assert isinstance(result, SealedResult), result
    parent.world.git(parent.folder, "merge", "-q", "--no-ff", "-m", f"Integrate {name}", str(result.head_sha))
    merged = parent.world.git(parent.folder, "rev-parse", "HEAD")
    noted = Integrated(entry, result.model_copy(update={"merged": merged}))
    await push_commit(play, parent, merged, "integrated", (noted,))


async def published(play: Play) -> Agent:
    agent = await claim(play, "claim-first")
    agent.push("one")
    await play.settle()
    return agent


async def first_claim(play: Play) -> None:
    """Nobody has claimed the ticket before."""
    play.begin()
    await claim(play, "claim-first")


async def first_push(play: Play) -> None:
    """The first commits are published: PR, comment and check-run appear."""
    agent = await claim(play, "claim-first")
    play.begin()
    await push(play, agent, "one")


async def second_push(play: Play) -> None:
    """The branch moves on: another check-run, the same PR and comment."""
    agent = await published(play)
    play.begin()
    await push(play, agent, "two")


async def plain_first_push(play: Play) -> None:
    """The first commits come by plain git: PR, comment and check-run appear."""
    agent = await claim(play, "claim-first")
    play.begin()
    await push_plainly(play, agent, "one")


async def plain_second_push(play: Play) -> None:
    """The branch moves on by plain git."""
    agent = await claim(play, "claim-first")
    await push_plainly(play, agent, "one")
    await play.settle()
    play.begin()
    await push_plainly(play, agent, "two")


async def takeover(play: Play) -> None:
    """The first holder is dead; a second one claims."""
    await published(play)
    play.world.emulator.advance(17 * 60)
    play.begin()
    await claim(play, "claim-second", 1)


async def start_checkpoint_recover(play: Play) -> None:
    """A whole ticket: begun, pushed, saved; its holder dies, the next one recovers it and goes on."""
    play.begin()
    first = await claim(play, "claim-first")
    await push(play, first, "one")
    await play.settle()
    await save(play, first)
    play.world.emulator.advance(17 * 60)
    second = await claim(play, "claim-second", 1)
    await push(play, second, "two")


async def checkpoint(play: Play) -> None:
    """A checkpoint through the service, and what was validated on the published commit."""
    agent = await published(play)
    play.begin()
    await save(play, agent)
    await validate(play, agent, play.world.head(agent.grant.branch) or "")


async def ready(play: Play) -> None:
    """The holder says that the work is ready."""
    agent = await published(play)
    play.begin()
    await save(play, agent, "ready")


async def handoff(play: Play) -> None:
    """The holder gives the ticket back."""
    agent = await published(play)
    play.begin()
    request = HandoffRequest(key="handoff-1", seq=next_number(agent))
    await play.call(lambda c: c.handoff(*AT, play.world.ticket, claims_of(agent.grant), request))


async def effect_run(play: Play) -> None:
    """Something is done outside Git, journaled before and after."""
    agent = await claim(play, "claim-first")
    play.begin()
    await carry_out(play, agent, "tag-first")


async def effect_of_the_dead(play: Play) -> None:
    """A holder died after it did something outside Git: its successor's loop looks."""
    agent = await claim(play, "claim-first")
    await carry_out(play, agent, "tag-first", tells=False)
    play.world.emulator.advance(17 * 60)
    play.begin()
    await claim(play, "claim-second", 1)


async def children(play: Play) -> None:
    """One child is spawned while another gives its result."""
    parent = await published(play)
    await spawn(play, parent, "docs")
    worker = await claim(play, "claim-docs", ticket=Child(play.world.ticket, "docs"))
    worker.push("chapter")
    play.begin()
    await spawn(play, parent, "code")
    await complete(play, worker)


async def child_integrate(play: Play) -> None:
    """What a child completed comes into the ticket's branch."""
    parent = await published(play)
    await spawn(play, parent, "docs")
    worker = await claim(play, "claim-docs", ticket=Child(play.world.ticket, "docs"))
    worker.push("chapter")
    await complete(play, worker)
    await play.settle()
    play.begin()
    await integrate(play, parent, "docs")


async def branch_deleted(play: Play) -> None:
    """Somebody deletes the branch; its PR closes."""
    agent = await published(play)
    play.begin()
    play.world.git(agent.folder, "push", "-q", "origin", f":refs/heads/{agent.grant.branch}")


async def branch_forced(play: Play) -> None:
    """Somebody forces another history over the branch."""
    agent = await published(play)
    play.begin()
    tree = play.world.git(agent.folder, "rev-parse", "HEAD^{tree}")
    orphan = play.world.git(agent.folder, "commit-tree", "-m", "foreign", tree)
    play.world.git(agent.folder, "push", "-q", "--force", "origin", f"{orphan}:refs/heads/{agent.grant.branch}")


async def cancelled_with_its_issue(play: Play) -> None:
    """A person closes the Issue while the holder is at work."""
    await published(play)
    play.begin()
    _issue(play, "closed")


async def comes_back(play: Play) -> None:
    """The Issue is open again, a person said that the ticket may come back, and somebody claims."""
    await _ended(play)
    _issue(play, "open")
    await play.world.recalled(play.controller)
    play.begin()
    await claim(play, "claim-second", 1)


async def pruned(play: Play) -> None:
    """The time of an ended ticket is up."""
    await _ended(play)
    play.world.emulator.advance(RETAINED_S)
    play.begin()


async def lands(play: Play) -> None:
    """The holder says that the work is ready, and the App lands it."""
    agent = await published_in_full(play, "none")
    play.begin()
    await save(play, agent, "ready")


async def lands_from_behind(play: Play) -> None:
    """The same on a trunk that went on meanwhile and wants its newest commit in the work."""
    agent = await published_in_full(play, "[ci]")
    _strict(play)
    play.world.emulator.commit(REPO, {"other.txt": "x"}, branch="release-1")
    _green(play, agent)
    play.begin()
    await save(play, agent, "ready")
    await play.settle()
    _green(play, agent)


async def merged_by_hand(play: Play) -> None:
    """A person merges the PR of a ticket whose holder is still at work."""
    await published_in_full(play, "none")
    http = play.world.http
    (pull,) = play.world.get("pulls")
    query = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }"
    http.post("/graphql", json={"query": query, "variables": {"id": pull["node_id"]}}).raise_for_status()
    http.put(f"/repos/{REPO}/pulls/{pull['number']}/merge", json={}).raise_for_status()
    play.begin()


async def published_in_full(play: Play, checks: str) -> Agent:
    text = f"version: 1\nmode: full\ntrunks: [release-*]\nlanding: {{checks: {checks}, unguarded_base: accept}}\n"
    play.world.emulator.commit(REPO, {".github/agent-recovery.yml": text}, branch="main")
    return await published(play)


def _green(play: Play, agent: Agent) -> None:
    """What CI says of the branch's head."""
    path = f"/repos/{REPO}/statuses/{play.world.head(agent.grant.branch)}"
    play.world.http.post(path, json={"state": "success", "context": "ci"}).raise_for_status()


def _strict(play: Play) -> None:
    """The trunk's rules want its newest commit in what is merged."""
    boss = play.world.emulator.user("boss")
    play.world.emulator.change_repo(REPO, collaborators={"boss": "admin"})
    wanted = {"strict_required_status_checks_policy": True, "required_status_checks": [{"context": "ci"}]}
    body = {
        "name": "strict",
        "enforcement": "active",
        "conditions": {"ref_name": {"include": ["refs/heads/release-1"], "exclude": []}},
        "rules": [{"type": "required_status_checks", "parameters": wanted}],
    }
    headers = {"Authorization": f"Bearer {boss['token']}"}
    play.world.http.post(f"/repos/{REPO}/rulesets", json=body, headers=headers).raise_for_status()


async def _ended(play: Play) -> None:
    await published(play)
    _issue(play, "closed")
    await play.settle()


def _issue(play: Play, state: str) -> None:
    body = {"state": state, **({"state_reason": "not_planned"} if state == "closed" else {})}
    play.world.http.patch(f"/repos/{REPO}/issues/{play.world.ticket}", json=body).raise_for_status()


STORIES: dict[str, Story] = {
    story.__name__: story
    for story in (
        first_claim,
        first_push,
        second_push,
        takeover,
        start_checkpoint_recover,
        checkpoint,
        ready,
        handoff,
        effect_run,
        effect_of_the_dead,
        children,
        child_integrate,
        branch_deleted,
        branch_forced,
        plain_first_push,
        plain_second_push,
        cancelled_with_its_issue,
        comes_back,
        pruned,
    )
}

STORIES_OF_LANDING: dict[str, Story] = {story.__name__: story for story in (lands, lands_from_behind, merged_by_hand)}
