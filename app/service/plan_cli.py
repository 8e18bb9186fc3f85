"""`agent-recovery plan`: what each mode would do in a repository, and why. It reads, and writes nothing."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from app.controller.planning import MOST_LOOKED_AT
from app.domain.intended import Intended, RepositoryPlan, Step
from app.domain.outcome import Code, Exit
from app.domain.policy import Mode, Policy
from app.domain.policy_in_force import shown
from app.domain.policy_text import read_policy
from app.service.adopting import adoption_of
from app.service.operator_command import repository_named, stop, with_parts
from app.service.progress import Progress

app = typer.Typer(help="What the App would do in a repository.")

SHOWN = 20
"""Things left alone for one and the same reason that are named one by one."""


@app.command()
def plan(
    repository: Annotated[str, typer.Option("--repo", metavar="OWNER/NAME", help="The repository.")],
    mode: Annotated[list[Mode] | None, typer.Option("--mode", help="Only this mode; may be given again.")] = None,
    policy: Annotated[
        Path | None, typer.Option("--policy", dir_okay=False, help="As if this file were the repository's policy.")
    ] = None,
    most: Annotated[int, typer.Option(min=1, max=5000, help="Tickets to look at, a few requests each.")] = (
        MOST_LOOKED_AT
    ),
    as_json: Annotated[bool, typer.Option("--json", help="The outcome as one JSON object.")] = False,
) -> None:
    """Show what each mode would do in a repository now, and why, without doing any of it.

    Works without a policy file, with the defaults. Settings come from the environment as for `serve`.
    """
    owner, name = repository_named(repository, as_json)
    modes = tuple(dict.fromkeys(mode)) if mode else tuple(Mode)
    progress = Progress()
    tried = _tried(policy, as_json) if policy is not None else None
    made = with_parts(
        lambda parts: adoption_of(parts).plan(owner, name, modes, progress, tried=tried, most=most), as_json
    )
    progress.end()
    if as_json:
        typer.echo(json.dumps(_told(made), indent=2))
        return
    for line in _lines(made):
        typer.echo(line)


def _tried(file: Path, as_json: bool) -> Policy:
    """The policy of a file that is tried. Ends the program where it is none."""
    try:
        reading = read_policy(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as problem:
        words = f"{file} cannot be read ({getattr(problem, 'strerror', None) or 'not UTF-8 text'})"
        stop(Exit.USAGE, Code.USAGE.value, words, "name a policy file", as_json)
    if reading.policy is None:
        stop(Exit.USAGE, Code.USAGE.value, f"{file}: {shown(reading.problems)}", reading.problems[0].remedy, as_json)
    return reading.policy


def _told(made: RepositoryPlan) -> dict[str, Any]:
    return {
        "repository": made.repository,
        "mode_now": made.mode_now,
        "stopped": made.stopped,
        "policy": made.policy,
        "problems": list(made.problems),
        "clamps": list(made.clamps),
        "found": dict(made.found),
        "unread": list(made.unread),
        "written": False,
        "modes": {mode: [_told_one(intended) for intended in things] for mode, things in made.modes.items()},
    }


def _told_one(intended: Intended) -> dict[str, Any]:
    steps = [{"action": s.name, **s.details, "reason": s.reason} for s in intended.steps]
    told: dict[str, Any] = {"thing": intended.thing, "actions": steps, "reason": intended.reason}
    return told if intended.claim is None else told | {"claim": intended.claim}


def _lines(made: RepositoryPlan) -> Iterator[str]:
    now = made.mode_now or "none, so nothing is written"
    yield f"{made.repository}: mode now: {now}"
    if made.stopped is not None:
        yield f"Nothing is written now, whatever the mode: {made.stopped}."
    yield f"Values of the policy: {made.policy}."
    yield from (f"  wrong: {problem}" for problem in made.problems)
    yield from (f"  moved to its bounds: {clamp}" for clamp in made.clamps)
    yield "Found: " + ", ".join(f"{what} {number}" for what, number in made.found.items()) + "."
    yield from (f"Not read: {what}." for what in made.unread)
    for mode, things in made.modes.items():
        acts = sum(len(intended.steps) for intended in things)
        yield ""
        yield f"mode: {mode} – acts: {acts}" if acts else f"mode: {mode} – nothing is done"
        yield from _mode_lines(things)
    yield ""
    yield "Nothing was written."


def _mode_lines(things: Sequence[Intended]) -> Iterator[str]:
    for intended in things:
        if not intended.steps and intended.claim is None:
            continue
        yield f"  {intended.thing}" + (f": {intended.reason}" if intended.reason else "")
        yield from (f"    {_step(step)}" for step in intended.steps)
        if intended.claim is not None:
            yield f"    a claim now would be {intended.claim}"
    alone = [i for i in things if not i.steps and i.claim is None]
    for reason, count in Counter(i.reason for i in alone).items():
        named = [i.thing for i in alone if i.reason == reason]
        more = f" and {count - SHOWN} more" if count > SHOWN else ""
        yield f"  {reason}: {', '.join(named[:SHOWN])}{more}"


def _step(step: Step) -> str:
    details = " ".join(f"{name}={value}" for name, value in step.details.items())
    return f"{step.name} {details}".rstrip() + f" – {step.reason}"
