"""The operator's `agent-recovery revoke-release` and `rebuild-release`. At a terminal a person is only a name, so
nothing is authorized or merged there: both are said in comments, whose authors GitHub knows at that moment.
"""

import json
import re
import secrets
from functools import partial
from typing import Annotated

import typer

from app.domain import release_verbs
from app.domain.release_record import Person
from app.service.operator_command import carried_out, login_named, repository_named

app = typer.Typer(help="An operator's word about a release.")

Repository = Annotated[str, typer.Argument(metavar="OWNER/NAME", help="The repository.")]
By = Annotated[str, typer.Option("--by", metavar="LOGIN", help="The person who says so; recorded.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be answered, and write nothing.")]
Json = Annotated[bool, typer.Option("--json", help="The outcome as one JSON object.")]


def _branch(text: str) -> str:
    if re.fullmatch(r"[^\x00-\x20\x7f~^:?*\[\\]{1,244}", text) is None or text.startswith("-"):
        raise typer.BadParameter("that is no branch name")
    return text


@app.command("revoke-release")
def revoke_release(
    repository: Repository,
    pull: Annotated[int, typer.Option("--pull", min=1, help="The number of the release PR.")],
    by: By,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Let nothing of a release be authorized any more. Answered once the check is red and the PR was read: where it was
    merged before, that is the answer.
    """
    owner, name = repository_named(repository, as_json)
    person = Person(login=login_named(by, as_json), id=0)
    rule = partial(release_verbs.revoke, by=person)
    done = carried_out(
        lambda loop: loop.hear_release(
            owner,
            name,
            pull,
            id=f"terminal-{secrets.token_hex(8)}",
            verb="revoke-release",
            by=person,
            rule=rule,
            dry_run=dry_run,
        ),
        as_json,
    )
    if as_json:
        typer.echo(json.dumps({"answer": done.answer, "changed": done.changed, "written": not dry_run}, indent=2))
    else:
        typer.echo(done.answer)


@app.command("rebuild-release")
def rebuild_release(
    repository: Repository,
    branch: Annotated[str, typer.Argument(metavar="BRANCH", help="The release branch.", callback=_branch)],
    by: By,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Begin a release's ledger anew where what stands in its place is not trusted, above everything ever seen of it.

    Every authorization has to be given anew, the guard is red until then; what stood there is kept under recovered/.
    Settings come from the environment as for `serve`.
    """
    owner, name = repository_named(repository, as_json)
    person, id = login_named(by, as_json), f"terminal-{secrets.token_hex(8)}"
    made = carried_out(
        lambda loop: loop.rebuild_release(owner, name, branch, id=id, by=person, dry_run=dry_run), as_json
    )
    record = made.record
    if as_json:
        told = {
            "branch": branch,
            "sequence": record.sequence,
            "written": not dry_run,
            "pull": record.pull,
            "found": made.found,
            "kept": made.kept,
            "voided": list(made.voided),
        }
        typer.echo(json.dumps(told, indent=2))
        return
    verb = "would be begun anew" if dry_run else "is begun anew"
    typer.echo(f"The ledger of {branch} {verb}, at sequence {record.sequence}: nothing is authorized.")
    typer.echo(f"Its PR: {f'#{record.pull}' if record.pull is not None else 'found again, or opened, by itself'}.")
    for comment in made.voided:
        typer.echo(f"Counts no more: what comment {comment} says.")
    if made.kept is not None:
        typer.echo(f"What stood there {'would be' if dry_run else 'is'} kept as {made.kept}.")
    if not dry_run:
        typer.echo("next: somebody looks at the release PR, and authorizes its head in a comment there")
