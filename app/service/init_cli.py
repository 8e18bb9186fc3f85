"""`agent-recovery init`: a first policy for a repository, shown before it is proposed in a pull request."""

import difflib
import json
import sys
from typing import Annotated, NoReturn

import typer

from app.controller.proposing import Opened, Proposal
from app.domain.outcome import Code, Exit
from app.domain.policy import PATH, Mode
from app.domain.proposed_policy import BRANCH
from app.service.adopting import adoption_of
from app.service.operator_command import repository_named, stop, with_parts
from app.service.running import Parts
from app.service.status_routes import POLICY_SCHEMA

app = typer.Typer(help="A first policy for a repository.")


@app.command()
def init(
    repository: Annotated[str, typer.Option("--repo", metavar="OWNER/NAME", help="The repository.")],
    mode: Annotated[Mode, typer.Option(help="What the policy says; observe writes nothing.")] = Mode.OBSERVE,
    label: Annotated[str | None, typer.Option(help="A label of the repository that makes an Issue a ticket.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Open the pull request without asking.")] = False,
    print_only: Annotated[bool, typer.Option("--print", help="Print the file, and write nothing.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Where there is a policy: how this one differs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The outcome as one JSON object.")] = False,
) -> None:
    """Show a policy that fits the repository, then propose it in a pull request from a branch of its own.

    Nothing is pushed to the default branch and nothing that stands is changed; a second run finds what the first did.
    """
    owner, name = repository_named(repository, as_json)

    async def prepare(parts: Parts) -> Proposal:
        base = parts.settings.public_url
        url = f"{base}{POLICY_SCHEMA}" if base else None
        return await adoption_of(parts).prepare(owner, name, mode=mode, label=label, schema_url=url)

    proposal = with_parts(prepare, as_json)
    text = proposal.proposed.text
    if print_only:
        _end(proposal, "printed", text.rstrip("\n"), as_json)
    if proposal.existing is not None:
        words = f"{proposal.repository} has a policy already: {PATH} on {proposal.default_branch}. It is left alone."
        shown = _difference(proposal.existing, text) if diff else "next: --diff shows how a new one would differ"
        _end(proposal, "exists", f"{words}\n{shown}", as_json)
    if proposal.pull is not None:
        words = f"It is proposed already: pull request #{proposal.pull.number} {proposal.pull.url}"
        _end(proposal, "proposed", words, as_json, Opened(proposal.pull.number, proposal.pull.url))
    if not yes:
        _ask(proposal, as_json)
    opened = with_parts(lambda parts: adoption_of(parts).open(owner, name, proposal), as_json)
    words = (
        f"Proposed: pull request #{opened.number} {opened.url}\nnext: review and merge it; it changes nothing before"
    )
    _end(proposal, "opened", words, as_json, opened)


def _ask(proposal: Proposal, as_json: bool) -> None:
    if as_json:
        words = "with --json nobody is asked: say --yes to open the pull request, or --print to see the file only"
        stop(Exit.USAGE, Code.USAGE.value, words, "run it with --yes or --print", as_json)
    where = f"{PATH} on the branch {BRANCH} of {proposal.repository}"
    typer.echo(f"This would be {where}:\n\n{proposal.proposed.text}")
    try:
        agreed = typer.confirm(f"Open a pull request into {proposal.default_branch}?")
    except typer.Abort:
        stop(Exit.USAGE, Code.USAGE.value, "nobody answered; nothing was written", "say --yes to open it", as_json)
    if not agreed:
        typer.echo("Nothing was written.")
        raise typer.Exit(Exit.OK)


def _difference(existing: str, text: str) -> str:
    lines = difflib.unified_diff(
        existing.splitlines(), text.splitlines(), "the policy that stands", "what init would propose", lineterm=""
    )
    return "\n".join(lines)


def _end(proposal: Proposal, state: str, words: str, as_json: bool, opened: Opened | None = None) -> NoReturn:
    if as_json:
        told = {
            "repository": proposal.repository,
            "state": state,
            "written": state == "opened",
            "policy": proposal.proposed.text,
            "pull": {"number": opened.number, "url": opened.url} if opened is not None else None,
            "likely_label": proposal.proposed.likely_label,
        }
        typer.echo(json.dumps(told, indent=2))
    else:
        typer.echo(words)
    sys.stdout.flush()
    raise typer.Exit(Exit.OK)
