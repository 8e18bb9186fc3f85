"""The agent's commands. Each reads its arguments, runs one thing, and shows the outcome.

Heavy imports stand inside the commands: `agent-recovery --help` and git's credential look-ups must be quick.
"""

import os
from pathlib import Path
from typing import Annotated

import typer

from app.agent.child_cli import app as child_app
from app.agent.child_cli import ending as ending_app
from app.agent.effect_cli import app as effect_app
from app.domain.triggers import Trigger

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
app.add_typer(effect_app, name="effect")
app.add_typer(child_app, name="child")
app.add_typer(ending_app)

Json = Annotated[bool, typer.Option("--json", help="Print the outcome as one JSON object.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done; change nothing.")]


def _ticket(text: str | None) -> str | None:
    from app.domain.ticket_id import ticket_id

    if text is not None and ticket_id(text) is None:
        raise typer.BadParameter(f"{text!r} is neither the number of an Issue nor a child like 42.docs-1")
    return text


Ticket = Annotated[
    str | None,
    typer.Argument(
        help="The Issue's number, or a child of its ticket (42.docs-1).", show_default=False, callback=_ticket
    ),
]
Repo = Annotated[str | None, typer.Option("--repo", help="owner/name (default: AGENT_RECOVERY_REPO).")]
Trunk = Annotated[str | None, typer.Option("--trunk", help="The release branch the ticket lands on.")]
Status = Annotated[
    str | None, typer.Option("--status", help="working or waiting; by default what goes with --at.", show_default=False)
]
At = Annotated[
    Trigger | None, typer.Option("--at", help="The moment: what a successor must think of.", show_default=False)
]
Hint = Annotated[
    list[str] | None,
    typer.Option(
        "--hint",
        help="KIND=IDENTIFIER, a faster way back: container-snapshot, filesystem-snapshot or native-session.",
        show_default=False,
    ),
]
Holder = Annotated[str | None, typer.Option("--holder", help="A label by which people recognise this agent.")]


def _holder(label: str | None) -> str:
    # The label stands in public places: this machine's name is nobody's business there.
    return (label or os.environ.get("AGENT_RECOVERY_HOLDER") or "agent")[:80].strip()


@app.command()
def claim(
    ticket: Ticket = None,
    repo: Repo = None,
    trunk: Trunk = None,
    holder: Holder = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Claim a ticket and keep the lease in .agent-recovery/ of this folder."""
    from app.agent import entering, show

    with show.reporting(as_json):
        entering.claim(ticket, repo, trunk, _holder(holder), dry_run=dry_run, as_json=as_json)


@app.command()
def recover(
    ticket: Ticket = None,
    repo: Repo = None,
    trunk: Trunk = None,
    holder: Holder = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Claim a ticket and make its workspace in this empty folder, at the exact commit the ledger names."""
    from app.agent import entering, show

    with show.reporting(as_json):
        entering.recover(ticket, repo, trunk, _holder(holder), dry_run=dry_run, as_json=as_json)


@app.command()
def brief(
    ticket: Ticket = None,
    repo: Repo = None,
    as_json: Json = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown as it is.")] = False,
) -> None:
    """Show everything a fresh agent must know about a ticket. Changes nothing."""
    from app.agent import entering, show

    with show.reporting(as_json):
        entering.brief(ticket, repo, as_json=as_json, as_markdown=as_markdown)


@app.command()
def checkpoint(
    file: Annotated[Path | None, typer.Option("--file", help="Instead of .agent-recovery/next.json.")] = None,
    status: Status = None,
    at: At = None,
    soft: Annotated[
        bool, typer.Option("--soft", help="On this machine only, at once; the next push makes it last.")
    ] = False,
    hint: Hint = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Store what you would tell a successor, through the service."""
    from app.agent import holding, show

    with show.reporting(as_json):
        holding.checkpoint(file, status, at, tuple(hint or ()), soft=soft, dry_run=dry_run, as_json=as_json)


@app.command()
def soft(as_json: Json = False) -> None:
    """List the soft checkpoints of this clone, newest first, and how to put one back."""
    from app.agent import holding, show

    with show.reporting(as_json):
        holding.soft(as_json=as_json)


@app.command()
def validate(
    profile: Annotated[str, typer.Argument(help="What is checked; `verify` is the policy's own list.")] = "verify",
    command: Annotated[
        list[str] | None, typer.Argument(help="The check and its arguments, after --.", show_default=False)
    ] = None,
    version: Annotated[
        str | None, typer.Option("--version", help="Of the profile; by default told by its command.")
    ] = None,
    deterministic: Annotated[
        bool, typer.Option("--deterministic", help="The same commit with the same dependencies ends the same way.")
    ] = False,
    artifact: Annotated[
        list[str] | None, typer.Option("--artifact", help="A report or log to look at.", show_default=False)
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", help="Record a result that was made elsewhere.")] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Run checks on the commit that stands here and record their result for exactly that commit."""
    from app.agent import show, validating

    with show.reporting(as_json):
        if file is not None:
            code = validating.record(file, dry_run=dry_run, as_json=as_json)
        else:
            code = validating.run(
                profile,
                tuple(command or ()),
                version=version,
                deterministic=deterministic,
                artifacts=tuple(artifact or ()),
                dry_run=dry_run,
                as_json=as_json,
            )
    raise SystemExit(code)


@app.command()
def heartbeat(
    loop: Annotated[bool, typer.Option("--loop", help="Go on until stopped or fenced out.")] = False,
    as_json: Json = False,
) -> None:
    """Say that you are alive and which ledger commit you last saw."""
    from app.agent import holding, show

    with show.reporting(as_json):
        holding.heartbeat(loop=loop, as_json=as_json)


@app.command(context_settings={"allow_interspersed_args": False})
def run(
    command: Annotated[list[str], typer.Argument(help="The agent's command and its arguments, after --.")],
    ends_in: Annotated[
        str | None, typer.Option("--ends-in", help="When this machine goes away, for example 55m.", show_default=False)
    ] = None,
    grace: Annotated[
        float, typer.Option("--grace", min=0, max=3600, help="Seconds the agent gets to end by itself.")
    ] = 10.0,
    hint: Hint = None,
) -> None:
    """Run an agent with heartbeats, soft checkpoints, and hard ones before it or its machine ends."""
    from app.agent import running, show

    with show.reporting(as_json=False):
        code = running.run(tuple(command), ends_in, grace, tuple(hint or ()))
    raise SystemExit(code)


@app.command()
def push(
    status: Status = None,
    at: At = None,
    hint: Hint = None,
    rewind: Annotated[
        bool, typer.Option("--rewind", help="Put the branch back over foreign commits; they are kept aside.")
    ] = False,
    rebased: Annotated[
        bool,
        typer.Option("--rebased", help="Your commits replace what is published (git rebase); that is kept aside."),
    ] = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Publish the ticket branch and the checkpoint in one fenced push. Works while the service is down."""
    from app.agent import publishing, show

    with show.reporting(as_json):
        publishing.push(status, at, tuple(hint or ()), rewind=rewind, rebased=rebased, dry_run=dry_run, as_json=as_json)


@app.command()
def resume(
    restore: Annotated[
        bool, typer.Option("--restore", help="Put the published commit back where the branch is gone.")
    ] = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Compare this workspace with the ledger and the remote before work goes on in it."""
    from app.agent import resuming, show

    with show.reporting(as_json):
        resuming.resume(restore=restore, dry_run=dry_run, as_json=as_json)


@app.command()
def adopt(
    sha: Annotated[str, typer.Argument(help="The foreign head of the ticket branch, as `push` named it.")],
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Take foreign commits on the ticket branch into your work, and publish them under your lease."""
    from app.agent import publishing, show

    with show.reporting(as_json):
        publishing.adopt(sha, dry_run=dry_run, as_json=as_json)


@app.command()
def ready(dry_run: DryRun = False, as_json: Json = False) -> None:
    """Say that the ticket is done: everything committed, pushed, and the checkpoint up to date."""
    from app.agent import holding, show

    with show.reporting(as_json):
        holding.ready(dry_run=dry_run, as_json=as_json)


@app.command()
def handoff(dry_run: DryRun = False, as_json: Json = False) -> None:
    """Give the ticket back with a last checkpoint, for the next agent to claim."""
    from app.agent import holding, show

    with show.reporting(as_json):
        holding.handoff(dry_run=dry_run, as_json=as_json)


@app.command("git-credential", hidden=True)
def git_credential(operation: Annotated[str, typer.Argument()]) -> None:
    """git's credential helper for the clone of this workspace: get; store and erase do nothing."""
    import sys

    from app.agent import credential

    request = sys.stdin.read(65536)
    if operation == "get":
        sys.stdout.write(credential.answer(request, Path.cwd()))
