"""`agent-recovery doctor`: how a repository stands (`--repo`), and whether GitHub behaves as relied on (`--probe`)."""

import asyncio
import json
import re
from dataclasses import asdict
from typing import Annotated

import typer

from app.doctor import (
    probes_of_guards,
    probes_of_issues,
    probes_of_limits,
    probes_of_looks,
    probes_of_merging,
    probes_of_projects,
    probes_of_pushes,
    probes_of_refs,
    probes_of_releases,
    probes_of_tokens,
    probes_of_work,
    repository_command,
)
from app.doctor.finding import Finding, State
from app.doctor.probe import Probe
from app.doctor.sandbox import InUse, Sandbox
from app.domain.outcome import Exit
from app.github.client import GitHub
from app.github.errors import GitHubError
from app.service.keys import parse_private_keys
from app.service.settings import BadSettings, Settings, load_settings

_MODULES = (
    probes_of_refs,
    probes_of_pushes,
    probes_of_work,
    probes_of_merging,
    probes_of_issues,
    probes_of_looks,
    probes_of_limits,
    probes_of_tokens,
    probes_of_projects,
    probes_of_guards,
    probes_of_releases,
)
PROBES: tuple[Probe, ...] = tuple(
    value for module in _MODULES for value in vars(module).values() if isinstance(value, Probe)
)
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,38}/[A-Za-z0-9._-]{1,100}")

app = typer.Typer(no_args_is_help=True, help="Looks at GitHub and at this installation for the operator.")


@app.command()
def doctor(
    repository: Annotated[
        str | None,
        typer.Option("--repo", metavar="OWNER/NAME", help="Say how this repository stands; reads only without --fix."),
    ] = None,
    probe: Annotated[
        str | None,
        typer.Option(
            "--probe",
            metavar="OWNER/SANDBOX",
            help="Try on this repository what the product relies on; it cleans up after itself.",
        ),
    ] = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Write the ruleset that requires the release check; it enforces nothing yet.")
    ] = False,
    enforce: Annotated[bool, typer.Option("--enforce", help="With --fix: have GitHub enforce it.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --fix: show what it would write.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --fix: write it without asking.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The findings as one JSON object.")] = False,
) -> None:
    """Look at a repository, or try a sandbox of your own. Settings come from the environment as for `serve`.

    --repo ends with 0 where nothing is to be mended, 5 where something is, 7 where it could not be seen; --fix with 4
    where the App may not write the ruleset. --probe ends with 0 where all is as relied on, 5 where something is
    otherwise (docs/unverified.md says what that means), 7 where GitHub did not answer.
    """
    if (repository is None) == (probe is None):
        typer.echo("say --repo OWNER/NAME, or --probe OWNER/SANDBOX", err=True)
        raise typer.Exit(Exit.USAGE)
    if (fix and repository is None) or ((enforce or dry_run or yes) and not fix):
        typer.echo("--fix goes with --repo; --enforce, --dry-run and --yes go with --fix", err=True)
        raise typer.Exit(Exit.USAGE)
    if repository is not None and fix:
        repository_command.fix(repository, enforce=enforce, dry_run=dry_run, yes=yes, as_json=as_json)
    if repository is not None:
        repository_command.look(repository, as_json)
    _probe(probe or "", as_json)


def _probe(probe: str, as_json: bool) -> None:
    if not _REPOSITORY.fullmatch(probe):
        typer.echo("--probe takes OWNER/NAME of a repository the App is installed on", err=True)
        raise typer.Exit(Exit.USAGE)
    try:
        settings = load_settings()
    except BadSettings as bad:
        typer.echo(str(bad), err=True)
        raise typer.Exit(Exit.USAGE) from None
    if not settings.writes:
        typer.echo("AGENT_RECOVERY_WRITES is off, and probes write: nothing was done", err=True)
        raise typer.Exit(Exit.GATE_CLOSED)
    try:
        findings, left = asyncio.run(_look(settings, probe, quiet=as_json))
    except InUse as in_use:
        typer.echo(f"Not probed: {in_use}. Use a repository that nobody works in.", err=True)
        raise typer.Exit(Exit.USAGE) from None
    except GitHubError as error:
        typer.echo(f"Not probed: {error.message}. Is the App installed on {probe}?", err=True)
        raise typer.Exit(Exit.UNAVAILABLE) from None
    if as_json:
        typer.echo(json.dumps({"repository": probe, "findings": [asdict(f) for f in findings], "left": left}, indent=2))
    else:
        _conclude(findings, left)
    raise typer.Exit(exit_code(findings))


def exit_code(findings: list[Finding]) -> int:
    """0 where everything is as relied on; what was not tried does not count as wrong, unless nothing was."""
    states = {finding.state for finding in findings}
    if State.OTHERWISE in states:
        return Exit.CONFLICT
    return Exit.OK if State.AS_RELIED_ON in states else Exit.UNAVAILABLE


async def _look(settings: Settings, full_name: str, *, quiet: bool) -> tuple[list[Finding], tuple[str, ...]]:
    owner, _, name = full_name.partition("/")
    keys = parse_private_keys(settings.app_private_key.get_secret_value())
    async with GitHub(settings.app_id, keys, settings.github_url) as github:
        box = await Sandbox.open(github, tuple(keys), owner, name)
        findings: list[Finding] = []
        try:
            for each in PROBES:
                findings.append(await each.run(box))
                if not quiet:
                    _tell(findings[-1])
        finally:
            # Also when it is interrupted: what was made is removed.
            left = await box.clean_up()
    return findings, left


def _tell(finding: Finding) -> None:
    typer.echo(f"{finding.state:<13} {finding.probe:<20} {finding.relied_on}")
    typer.echo(f"{'':<34} {finding.seen}")


def _conclude(findings: list[Finding], left: tuple[str, ...]) -> None:
    counts = {state: sum(finding.state is state for finding in findings) for state in State}
    typer.echo(", ".join(f"{count} {state}" for state, count in counts.items()))
    for what in left:
        typer.echo(f"Could not be removed, please do: {what}")
    if counts[State.OTHERWISE]:
        typer.echo("What each means and what to do: docs/unverified.md")
