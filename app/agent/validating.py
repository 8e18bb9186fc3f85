"""`validate`: runs checks on the commit that stands here, and records their result for exactly that commit.

What is about to run is recorded first, as not run: whoever dies half-way leaves an honest record. The result then takes
its place. `verify` without a command runs the policy's own verify commands, so that a later `recover` may reuse it.
"""

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from app.agent import dependencies, held, show, verify_runs, writes
from app.agent.api import Service
from app.agent.environment import usage
from app.agent.home import Home, read_text
from app.agent.workspace import Workspace
from app.domain.agent_api import VerifyRun, WriteAnswer
from app.domain.validation import VERIFY, Validation, name_of, version_of

FAILED = 1
"""The exit code of a validation that ran and did not pass."""


def run(
    profile: str,
    command: tuple[str, ...],
    *,
    version: str | None,
    deterministic: bool,
    artifacts: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
) -> int:
    """`agent-recovery validate PROFILE [-- command…]`: the exit code. Raises Refused."""
    home = Home.find(Path.cwd())
    lease, identity = held.held_lease(home), held.identity(home)
    commands = (command,) if command else lease.verify if profile == VERIFY else ()
    if not commands:
        raise usage(
            "there is nothing to run", "give the command after `--`; without one, `validate verify` runs the policy's"
        )
    head = _clean_head(home)
    facts: dict[str, Any] = {
        "profile": profile,
        "version": version or version_of(commands),
        "validated_sha": head,
        "deterministic": deterministic,
        "dependencies": dependencies.digest(),
        "artifacts": list(artifacts),
    }
    names = [name_of(each) for each in commands]
    if dry_run:
        return _would(facts, [list(each) for each in commands], as_json)
    with Service(identity.url, identity.repository, identity.ticket) as service:
        _send(home, service, identity, {**facts, "not_run": names})
        runs = verify_runs.run_all(commands, home.root)
        if Workspace(home).state().head != head:
            raise usage("the checks moved HEAD", "run them where they leave the commit alone, then validate again")
        result = {
            **facts,
            "completed": [name for name, done in zip(names, runs, strict=True) if done.exit_code == 0],
            "failed": [name for name, done in zip(names, runs, strict=True) if done.exit_code != 0],
        }
        answer = _send(home, service, identity, result)
    return _told(result, runs, answer, as_json)


def record(file: Path, *, dry_run: bool, as_json: bool) -> int:
    """`agent-recovery validate --file F`: a result that was made elsewhere, in CI for example. Raises Refused."""
    home = Home.find(Path.cwd())
    identity = held.identity(home)
    text = read_text(file, str(file))
    try:
        made = Validation.model_validate(json.loads(text or ""))
    except (ValueError, ValidationError) as wrong:
        problem = "; ".join(error["msg"] for error in wrong.errors()) if isinstance(wrong, ValidationError) else wrong
        raise usage(f"{file} is no validation: {problem}", 'see "Validations" in docs/cli.md') from None
    fields = made.model_dump(mode="json", exclude_defaults=True)
    if dry_run:
        return _would(fields, [], as_json)
    with Service(identity.url, identity.repository, identity.ticket) as service:
        answer = _send(home, service, identity, fields)
    return _told(fields, (), answer, as_json)


def _would(facts: dict[str, Any], commands: list[list[str]], as_json: bool) -> int:
    if as_json:
        show.data({"dry_run": {"validation": facts, "would_run": commands}})
    else:
        show.say(f"dry run: would run {len(commands)} checks of {facts['profile']} on {facts['validated_sha']}")
    return 0


def _clean_head(home: Home) -> str:
    state = Workspace(home).state()
    if state.head is None or not state.clean:
        first = next(iter((*state.changed, *state.untracked)), "there is no commit")
        raise usage(f"the workspace is not at a commit: {first}", "commit or set aside, then validate again")
    return state.head


def _send(home: Home, service: Service, identity: held.Identity, fields: dict[str, Any]) -> WriteAnswer:
    return writes.send(home, service, identity, "validation", {"validation": fields})


def _told(fields: dict[str, Any], runs: tuple[VerifyRun, ...], answer: WriteAnswer, as_json: bool) -> int:
    failed, left = fields.get("failed", ()), fields.get("not_run", ())
    passed = not failed and not left
    if as_json:
        show.data(
            {
                "validation": fields,
                "passed": passed,
                "runs": [done.model_dump(mode="json") for done in runs],
                "answer": answer.model_dump(mode="json"),
            }
        )
        return 0 if passed else FAILED
    for done in runs:
        if done.exit_code != 0:
            show.warn(f"ended with {done.exit_code}: {' '.join(done.command)}")
    state = "passed" if passed else "failed" if failed else "stopped half-way"
    show.say(f"validation {fields['profile']} {state} on {fields.get('validated_sha') or 'a tree'}, recorded")
    return 0 if passed else FAILED
