"""The commands about children: what a ticket's holder does, and how a child gives its result."""

import json
from pathlib import Path
from typing import Any

from app.agent import claiming, held, integrating, publishing, show, writes
from app.agent.api import Service
from app.agent.environment import usage
from app.agent.home import Home, read_text
from app.agent.integrating import Nothing
from app.agent.workspace import Empty, Occupied, Workspace
from app.domain.agent_api import WriteAnswer
from app.domain.outcome import Blocked, Code, Refused
from app.domain.ticket_id import Child

Task = dict[str, Any]


def task(
    objective: str | None,
    acceptance: tuple[str, ...],
    expect: str | None,
    role: str | None,
    minutes: int | None,
    tokens: int | None,
    file: Path | None,
) -> Task:
    """What a child is to do, from a file and from options over it; empty where nothing was said. Raises Refused."""
    said: Task = _read(file) if file is not None else {}
    options = {"objective": objective, "acceptance": list(acceptance), "expected_result": expect, "role": role}
    said |= {name: value for name, value in options.items() if value}
    budget = {name: value for name, value in (("minutes", minutes), ("tokens", tokens)) if value is not None}
    return {**said, "budget": budget} if budget else said


def spawn(name: str, wanted: Task, *, dry_run: bool, as_json: bool) -> None:
    """`agent-recovery child spawn`."""
    if not wanted.get("objective"):
        raise usage("no objective", "say what the child is to do: --objective TEXT, or --file")
    _send("children/spawn", {"name": name, "task": wanted}, f"spawned {name}", dry_run, as_json)


def respawn(name: str, wanted: Task, *, dry_run: bool, as_json: bool) -> None:
    """`agent-recovery child respawn`: without a new task the child keeps the one it had."""
    if wanted and not wanted.get("objective"):
        raise usage("a new task needs an objective", "add --objective TEXT, or leave out the rest to keep the task")
    _send("children/respawn", {"name": name, "task": wanted or None}, f"asked for {name} anew", dry_run, as_json)


def adopt(name: str, *, dry_run: bool, as_json: bool) -> None:
    """`agent-recovery child adopt`."""
    _send("children/adopt", {"name": name}, f"adopted {name}", dry_run, as_json)


def cancel(name: str, *, dry_run: bool, as_json: bool) -> None:
    """`agent-recovery child cancel`."""
    _send("children/cancel", {"name": name}, f"cancelled {name}", dry_run, as_json)


def list_(*, as_json: bool) -> None:
    """`agent-recovery child list`."""
    identity = held.identity(Home.find(Path.cwd()))
    with Service(identity.url, identity.repository, identity.ticket) as service:
        found = service.children(identity.token)
    if as_json:
        show.data(found.model_dump(mode="json"))
        return
    if not found.children:
        show.say("no children")
    for child in found.children:
        ready = " · integrate it now" if child.integrable else ""
        show.say(f"{child.name}: {child.state}, generation {child.generation}{ready}: {child.because}")


def integrate(name: str | None, *, dry_run: bool, as_json: bool) -> None:
    """`agent-recovery child integrate`."""
    home = Home.find(Path.cwd())
    chosen = integrating.choose(home, name)
    if isinstance(chosen, Nothing):
        _tell({"integrated": None, "reason": chosen.reason}, chosen.reason, as_json)
        return
    about = {"name": chosen.entry.name, "result": chosen.result.model_dump(mode="json")}
    if dry_run:
        told = f"dry run: would merge {chosen.entry.name} ({chosen.result.head_sha or 'a report alone'})"
        _tell({"dry_run": about}, told, as_json)
        return
    done = integrating.integrate(home, chosen)
    beat = publishing.heartbeat(done.plan, done.pushed.ledger_commit)
    facts = {
        "integrated": done.name,
        "result": done.result.model_dump(mode="json"),
        "pushed": done.pushed.code_sha,
        "ledger_commit": done.pushed.ledger_commit,
        "heartbeat": beat,
    }
    _tell(facts, f"integrated {done.name} as {done.result.merged}, ledger {done.pushed.ledger_commit}", as_json)


def give(
    outcome: str,
    summary: str | None,
    met: tuple[str, ...],
    unmet: tuple[str, ...],
    artifacts: tuple[str, ...],
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    """`agent-recovery complete` and `fail`: with it the child's lease is over."""
    home = Home.find(Path.cwd())
    if not summary:
        raise usage("no summary", "say in a sentence what came of it: --summary TEXT")
    if not isinstance(held.identity(home).ticket, Child):
        raise Refused(
            Blocked(
                Code.USAGE, "this folder holds a ticket, not a child", "a ticket is done with `agent-recovery ready`"
            )
        )
    if outcome == "completed":
        _refuse_unpushed(home)
    body = {
        "outcome": outcome,
        "summary": summary,
        "acceptance": [{"text": t, "met": True} for t in met] + [{"text": t, "met": False} for t in unmet],
        "artifacts": list(artifacts),
    }
    if _send("completion", body, f"{outcome}: the result is stored", dry_run, as_json) is not None:
        claiming.end(home, f"{outcome}: its result was given")


def _refuse_unpushed(home: Home) -> None:
    """A result is what was pushed; work that is only here would be missing from it without a word."""
    lease = held.held_lease(home)
    workspace = Workspace(home)
    if isinstance(workspace.look(lease.addresses), Empty | Occupied):
        return
    state = workspace.state()
    wanted = lease.published_sha or lease.base_sha
    if state.changed or state.head != wanted:
        here = f"{len(state.changed)} files are changed" if state.changed else f"HEAD is {state.head}"
        reason = f"not pushed: {here}, published is {lease.published_sha or 'nothing'}"
        raise Refused(Blocked(Code.NOT_PUBLISHED, reason, "commit, `agent-recovery push`, then complete"))


def _send(operation: str, body: dict[str, Any], done: str, dry_run: bool, as_json: bool) -> WriteAnswer | None:
    home = Home.find(Path.cwd())
    identity = held.identity(home)
    if dry_run:
        _tell({"dry_run": {"call": operation, **body}}, f"dry run: {operation} {json.dumps(body)}", as_json)
        return None
    with Service(identity.url, identity.repository, identity.ticket) as service:
        answer = writes.send(home, service, identity, operation, body)
    again = " (the stored answer of an earlier call)" if answer.repeated else ""
    _tell(answer.model_dump(mode="json"), f"{done}: sequence {answer.sequence}{again}", as_json)
    return answer


def _tell(facts: dict[str, Any], text: str, as_json: bool) -> None:
    if as_json:
        show.data(facts)
    else:
        show.say(text)


def _read(file: Path) -> Task:
    text = read_text(file, str(file))
    if text is None:
        raise usage(f"{file} does not exist", "write the task there as one JSON object")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise usage(f"{file} is not JSON: {str(error)[:100]}", f"mend {file}") from None
    if not isinstance(content, dict):
        raise usage(f"{file} is not a JSON object", "write the fields of the task as one object { … }")
    return content
