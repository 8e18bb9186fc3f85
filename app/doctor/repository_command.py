"""`agent-recovery doctor --repo OWNER/NAME`: is a release guarded there, and does the App have what it needs?"""

import json
from collections.abc import Iterator
from typing import Any, NoReturn

import typer

from app.doctor.examining import Examined, examine, fix_command, wanted_of
from app.doctor.fixing import Fixed, Fixing
from app.doctor.health import Health
from app.domain.outcome import Code, Exit
from app.domain.release_ruleset import NAME, Change, Enforcement, Worth, change
from app.service.operator_command import repository_named, stop, with_parts
from app.service.running import Parts


def look(repository: str, as_json: bool) -> NoReturn:
    """Say how it stands, and end: 0 nothing to mend, 5 something to mend, 7 it could not be seen."""
    owner, name = repository_named(repository, as_json)
    found = with_parts(lambda parts: examine(parts, owner, name), as_json)
    _tell(found, None, "looked", as_json)
    raise typer.Exit(exit_code(found))


def fix(repository: str, *, enforce: bool, dry_run: bool, yes: bool, as_json: bool) -> NoReturn:
    """Show the ruleset that is missing, and write it once somebody agreed. Ends with 0 where it stands then, with 4
    where the App may not write it or must not.
    """
    owner, name = repository_named(repository, as_json)
    found = with_parts(lambda parts: examine(parts, owner, name, fix=True), as_json)
    todo = _to_write(found, enforce)
    if todo is None:
        _tell(found, None, "nothing to write", as_json)
        raise typer.Exit(_after_a_fix(found, Exit.OK))
    if dry_run:
        _tell(found, todo, "to be written", as_json)
        raise typer.Exit(Exit.OK)
    _require_leave(found, todo, as_json)
    if not yes:
        _ask(found, todo, as_json)

    async def write(parts: Parts) -> tuple[Fixed, Examined]:
        repo = await parts.github.repository(owner, name)
        fixing = Fixing(repo, found.base.branch, wanted_of(repo))
        done = await fixing.carry_out(fix_command(repo), enforce=enforce)
        return done, await examine(parts, owner, name, fix=True)

    done, after = with_parts(write, as_json)
    _tell(after, done.wrote, "written" if done.wrote is not None else "nothing to write", as_json)
    raise typer.Exit(Exit.OK)


def exit_code(found: Examined) -> int:
    """0 where nothing can be mended: a guard that the plan does not let anybody enforce is told and counts as that."""
    states = {told.health for told in found.told}
    mendable = found.guard.worth is Worth.ADVISORY and not found.base.plan_without
    if Health.MEND in states or mendable:
        return Exit.CONFLICT
    return Exit.UNAVAILABLE if Health.UNKNOWN in states else Exit.OK


def _after_a_fix(found: Examined, fine: int) -> int:
    return fine if found.guard.worth is Worth.ENFORCED or found.base.ours is not None else Exit.GATE_CLOSED


def _to_write(found: Examined, enforce: bool) -> Change | None:
    if found.base.plan_without or not found.base.exists:
        return None
    enforced = found.guard.worth is Worth.ENFORCED
    return change(found.base, found.wanted, enforce=enforce, enforced_already=enforced)


def _require_leave(found: Examined, todo: Change, as_json: bool) -> None:
    """Ends the program where the ruleset would do harm, or cannot be written by the App."""
    if todo.enforcement == Enforcement.ACTIVE and found.silent is not None:
        words = f"enforced, it would let nothing be merged into {found.base.branch}: {found.silent}"
        stop(Exit.GATE_CLOSED, Code.FORBIDDEN.value, words, "let the App write here first, then run it again", as_json)
    if not found.may_write_rulesets:
        words = "the App may not write rulesets here: its installation lacks administration: write"
        remedy = f"grant it for a while, or have an administrator run:\n{_by_hand(found, todo)}"
        stop(Exit.GATE_CLOSED, Code.FORBIDDEN.value, words, remedy, as_json)


def _by_hand(found: Examined, todo: Change) -> str:
    """The same for a person with GitHub's command line."""
    path = f"repos/{found.repo.full_name}/rulesets"
    method, where = ("PUT", f"{path}/{todo.id}") if todo.id is not None else ("POST", path)
    return f"gh api -X {method} {where} --input - <<'JSON'\n{json.dumps(_shown(todo), indent=2)}\nJSON"


def _shown(todo: Change) -> dict[str, Any]:
    # What everybody's plan takes; the App itself tries `evaluate` first.
    enforcement = Enforcement.DISABLED if todo.enforcement == Enforcement.EVALUATE else todo.enforcement
    return {**todo.body, "enforcement": str(enforcement)}


def _ask(found: Examined, todo: Change, as_json: bool) -> None:
    if as_json:
        words = "with --json nobody is asked: say --yes to write the ruleset, or --dry-run to see it"
        stop(Exit.USAGE, Code.USAGE.value, words, "run it with --yes or --dry-run", as_json)
    for line in _lines_of_change(found, todo, "to be written"):
        typer.echo(line)
    try:
        agreed = typer.confirm(f"Write this ruleset to {found.repo.full_name}?")
    except typer.Abort:
        stop(Exit.USAGE, Code.USAGE.value, "nobody answered; nothing was written", "say --yes to write it", as_json)
    if not agreed:
        typer.echo("Nothing was written.")
        raise typer.Exit(Exit.OK)


def _tell(found: Examined, written: Change | None, state: str, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(_data(found, written, state), indent=2))
        return
    for told in found.told:
        typer.echo(f"{told.health:<9} {told.check:<14} {told.seen}")
        if told.remedy is not None:
            typer.echo(f"{'':<24} next: {told.remedy}")
    typer.echo(f"The release check on {found.base.branch} is {found.guard.worth}.")
    if state != "looked":
        for line in _lines_of_change(found, written, state):
            typer.echo(line)


def _lines_of_change(found: Examined, written: Change | None, state: str) -> Iterator[str]:
    if written is None:
        if found.base.plan_without:
            yield "No ruleset was written: GitHub would not enforce it on this plan."
        elif not found.base.exists:
            yield f"No ruleset was written: there is no branch {found.base.branch}."
        else:
            yield "Nothing is to be written: the ruleset stands as wanted, or another rule requires the check."
        return
    verb = "Written" if state == "written" else "To be written"
    yield f"{verb}: the ruleset {NAME} of {found.repo.full_name}, because {' and '.join(written.why)}"
    yield f"  enforcement: {written.enforcement}{_other_word(written, state)}"
    yield from (f"  {line}" for line in json.dumps(dict(written.body), indent=2).splitlines())
    if written.enforcement != Enforcement.ACTIVE:
        yield f"It enforces nothing yet. next: {fix_command(found.repo)} with --enforce"


def _other_word(written: Change, state: str) -> str:
    if written.enforcement == Enforcement.EVALUATE and state != "written":
        return " (disabled where GitHub's plan has no evaluate); nothing is enforced before --enforce"
    return ""


def _data(found: Examined, written: Change | None, state: str) -> dict[str, Any]:
    ours = found.base.ours
    return {
        "repository": found.repo.full_name,
        "base": found.base.branch,
        "state": state,
        "guard": str(found.guard.worth),
        "reason": found.guard.reason,
        "remedy": found.guard.remedy,
        "notes": list(found.guard.notes),
        "ruleset": {"id": ours.id, "name": ours.name, "enforcement": ours.enforcement} if ours is not None else None,
        "change": {"id": written.id, "why": list(written.why), "body": dict(written.body)} if written else None,
        "findings": [
            {"check": one.check, "state": str(one.health), "seen": one.seen, "remedy": one.remedy} for one in found.told
        ],
    }
