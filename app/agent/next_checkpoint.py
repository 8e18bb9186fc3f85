"""`.agent-recovery/next.json`: what the agent would tell a successor. It has the checkpoint's schema.

The agent edits it freely; `checkpoint`, `push`, `ready` and `handoff` take it from there. `recover` writes it first,
from the brief, so that a fresh agent goes on from what is known and not from nothing.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from app.agent.environment import usage
from app.agent.home import FOLDER, Home, read_text
from app.agent.show import warn
from app.agent.workspace import State
from app.domain.admission import admit
from app.domain.brief import Brief
from app.domain.checkpoint import DERIVED_FIELDS, Change, Checkpoint
from app.domain.hints import NotAHint, hint_of, with_hints
from app.domain.outcome import Blocked, Refused
from app.domain.triggers import Trigger, status_at, untold_at

FILE = "next.json"

_TOLD_BY_AGENTS = tuple(
    name
    for name in Checkpoint.model_fields
    # The last three speak of one moment: the next agent's are others.
    if name not in DERIVED_FIELDS and name not in ("checkpoint_sha_or_snapshot", "current_diff", "trigger")
)


def prefilled(brief: Brief) -> dict[str, Any]:
    """The checkpoint a fresh agent starts from: the last one's facts, else what the Issue's task list says."""
    # Not a second time where a checkpoint says what is left.
    fresh = not brief.completed_steps and brief.status != "ready"
    steps = brief.next_steps or (brief.untrusted.issue_tasks if fresh else ())
    known = {name: brief.checkpoint[name] for name in _TOLD_BY_AGENTS if brief.checkpoint.get(name) is not None}
    empty: dict[str, Any] = {
        "objective": brief.objective or "",
        "completed_steps": [step.model_dump(mode="json", exclude_none=True) for step in brief.completed_steps],
        "next_steps": [step.model_dump(mode="json", exclude_none=True) for step in steps],
        "accepted_decisions": list(brief.accepted_decisions),
        # Not the brief's: what a look found blocks as long as it is so, and no longer because somebody noted it.
        "blockers": [],
        "pending_validation": list(brief.pending_validation),
    }
    return {**empty, **known}


def write(home: Home, content: dict[str, Any]) -> None:
    home.write(FILE, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def read(home: Home, file: Path | None = None) -> dict[str, Any]:
    """The agent's checkpoint as it stands. Raises Refused, naming line and column where the JSON is broken."""
    name = str(file) if file else f"{FOLDER}/{FILE}"
    text = read_text(file or home.path(FILE), name)
    if text is None:
        raise usage(f"{name} does not exist", "write the checkpoint there, or run `agent-recovery recover` again")
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise usage(
            f"{name} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}",
            f"mend line {error.lineno} of {name}",
        ) from None
    except (ValueError, RecursionError):
        raise usage(f"{name} holds a number too long or is nested too deep", f"make {name} simpler") from None
    if not isinstance(content, dict):
        raise usage(f"{name} is not a JSON object", "write the fields of a checkpoint as one object { … }")
    return content


def exists(home: Home) -> bool:
    return home.path(FILE).is_file()


def status_told(status: str | None, at: Trigger | None) -> Literal["working", "waiting"]:
    """The status a checkpoint or push tells: the one that was asked for, else the one that goes with the moment.

    Raises Refused.
    """
    told = status or status_at(at)
    if told not in ("working", "waiting"):
        raise usage("--status is working or waiting", "say `agent-recovery ready` when the work is done")
    return "waiting" if told == "waiting" else "working"


def warn_of_untold(at: Trigger | None, body: dict[str, Any]) -> None:
    """Says what a successor will look for in a checkpoint made at this moment, and not find."""
    missing = untold_at(at, body)
    if missing:
        warn(f"at {at} a successor looks for {', '.join(missing)}: {FOLDER}/{FILE} does not tell")


def hints_of(texts: Sequence[str]) -> tuple[str, ...]:
    """The hints as `artifact_refs` holds them, from `KIND=IDENTIFIER`. Raises Refused."""
    try:
        return tuple(hint_of(text) for text in texts)
    except NotAHint as wrong:
        raise usage(f"--hint: {wrong}", "for example --hint native-session=0f3c2a") from None


def note_hints(home: Home, hints: tuple[str, ...]) -> None:
    """Puts hints into next.json, the latest of each kind, where every later checkpoint takes them from."""
    content = read(home)
    refs = content.get("artifact_refs") or []
    if not isinstance(refs, list) or not all(isinstance(ref, str) for ref in refs):
        raise usage("artifact_refs must be a list of texts", f"correct artifact_refs in {FOLDER}/{FILE}")
    write(home, {**content, "artifact_refs": list(with_hints(tuple(refs), hints))})


def with_local_facts(content: dict[str, Any], state: State, published: str | None) -> dict[str, Any]:
    """The checkpoint with what only this machine knows, where the agent did not say it: the commit it stands on, and
    honestly what of the work is local only.
    """
    facts = dict(content)
    if not facts.get("checkpoint_sha_or_snapshot") and state.head:
        facts["checkpoint_sha_or_snapshot"] = state.head
    if not facts.get("current_diff"):
        facts["current_diff"] = _what_is_local(state, published)
    return facts


def admitted(home: Home, content: dict[str, Any]) -> tuple[Checkpoint, tuple[Change, ...]]:
    """The checkpoint as it may leave this machine, without secrets and machine paths, and what was done to it.

    Raises Refused.
    """
    outcome = admit(content, root_hints=(str(home.root),))
    if isinstance(outcome, Blocked):
        raise Refused(outcome)
    return outcome.checkpoint, outcome.changes


def _what_is_local(state: State, published: str | None) -> str:
    parts = []
    if state.head and state.head != published:
        parts.append(f"HEAD {state.head} is not published")
    if state.changed:
        parts.append(f"{len(state.changed)} tracked files changed and not committed")
    if state.untracked:
        parts.append(f"{len(state.untracked)} untracked files")
    return "; ".join(parts) or "nothing: the work tree is clean and published"
