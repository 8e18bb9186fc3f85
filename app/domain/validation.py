"""Validations: what was checked, on exactly which snapshot, and whether that says anything about the present one.

A result counts for the snapshot it was made on and for no other. It may stand in for running the check again only on
the identical snapshot, and only where the check says that it is deterministic and its dependencies are the same. One
that stopped half-way is no pass; one made on another predecessor is void. Everything else is "not run" (section 10 of
the recovery specification).
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints, ValidationError, model_validator

from app.domain.brief import ShownValidation
from app.domain.machine_paths import portable
from app.domain.model import Instant, Sha, Stored
from app.domain.plain_text import clean, cut, one_line
from app.domain.record import Record
from app.domain.secret_shapes import redact
from app.domain.stack import MovedOn, stacking
from app.domain.surroundings import Surroundings

VERIFY = "verify"
"""The profile of the policy's `verify` commands, which `recover` runs."""
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
MAX_NAME = 120
MAX_CHECKS = 20
MAX_STORED = 6 * 1024
"""Bytes of all validations of a record: the oldest give way to a newer profile's."""


def _told(text: str) -> str:
    # A holder may push what it likes into the ledger, so every reading redacts, not only the API.
    return cut(portable(redact(one_line(clean(text))).text, ()).text, MAX_NAME)


Told = Annotated[str, StringConstraints(min_length=1, max_length=4 * MAX_NAME), AfterValidator(_told)]
"""A short text of a holder: one line, without secrets and machine paths."""
Checks = Annotated[tuple[Told, ...], Field(max_length=MAX_CHECKS)]
Digest = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]


class Validation(Stored):
    """One profile's latest result. The snapshot is a commit, or a tree (`tree:<id>`) where nothing was committed.

    `completed` checks passed, `failed` ones did not, `not_run` ones were not finished. `predecessor_sha` is what the
    ticket was stacked on then; `dependencies` a digest of what the checks depend on outside the snapshot.
    """

    profile: Told
    version: Told
    validated_sha: Sha | None = None
    validated_snapshot: Annotated[str, StringConstraints(pattern=r"^tree:[0-9a-f]{40}$")] | None = None
    completed: Checks = ()
    failed: Checks = ()
    not_run: Checks = ()
    artifacts: Checks = ()
    deterministic: bool = False
    dependencies: Digest | None = None
    predecessor_sha: Sha | None = None
    generation: int = 0
    recorded_at: Instant | None = None

    @model_validator(mode="after")
    def _has_a_snapshot(self) -> "Validation":
        if self.validated_sha is None and self.validated_snapshot is None:
            raise ValueError("a validation names the snapshot it was made on")
        return self

    @property
    def snapshot(self) -> str:
        """The commit, else the tree."""
        return self.validated_sha or self.validated_snapshot or ""


@dataclass(frozen=True)
class Snapshot:
    """The code that a result is asked about, and what it is stacked on. `stale`: the predecessor has moved on since."""

    sha: str
    tree: str | None = None
    predecessor_sha: str | None = None
    stale: bool = False


@dataclass(frozen=True)
class Passed:
    checks: tuple[str, ...]


@dataclass(frozen=True)
class Failed:
    checks: tuple[str, ...]


@dataclass(frozen=True)
class NotRun:
    """Nothing is known about the snapshot, and why."""

    reason: str


Judgement = Passed | Failed | NotRun


def judged(validation: Validation | None, snapshot: Snapshot) -> Judgement:
    """What a result says about a snapshot."""
    if validation is None:
        return NotRun("it was never run")
    if snapshot.stale:
        return NotRun("the predecessor has moved on, so it is void")
    if validation.predecessor_sha != snapshot.predecessor_sha:
        return NotRun("it was made on another predecessor, so it is void")
    if not _is_of(validation, snapshot):
        return NotRun(f"it was made on {validation.snapshot}")
    if validation.failed:
        return Failed(validation.failed)
    if validation.not_run or not validation.completed:
        count = len(validation.not_run)
        return NotRun(f"it stopped half-way: {count} checks did not run" if count else "it names no check that ran")
    return Passed(validation.completed)


def reusable(
    validation: Validation | None, snapshot: Snapshot, *, version: str, dependencies: str | None
) -> Passed | NotRun:
    """Whether a result may stand in for running its checks again. Without a known digest of the dependencies on both
    sides nothing says that they are the same.
    """
    verdict = judged(validation, snapshot)
    if validation is None or not isinstance(verdict, Passed):
        return verdict if isinstance(verdict, NotRun) else NotRun("it failed")
    if validation.version != version:
        return NotRun("its checks were others")
    if not validation.deterministic:
        return NotRun("it is not declared deterministic")
    if dependencies is None or validation.dependencies != dependencies:
        return NotRun("its dependencies are not known to be the same")
    return verdict


def stands_for(shown: ShownValidation, sha: str | None, *, version: str, dependencies: str | None) -> bool:
    """`reusable` for a reader of a brief, which has the service's judgement and not the record."""
    same = (shown.snapshot, shown.version, shown.dependencies) == (sha, version, dependencies)
    return shown.state == "passed" and shown.deterministic and dependencies is not None and same


def passes(record: Record, wanted: Mapping[str, str | None], snapshot: Snapshot) -> tuple[str, ...]:
    """The profiles among `wanted` that did not pass on exactly this commit, unstale and with the version that is named
    for them (None: any): what a gate asks. A result by tree never opens one, whatever it says.
    """
    known = {v.profile: v for v in validations_of(record) if v.validated_sha == snapshot.sha}
    return tuple(
        name
        for name, version in wanted.items()
        if not isinstance(judged(known.get(name), snapshot), Passed)
        or (version is not None and known[name].version != version)
    )


def snapshot_of(record: Record, sha: str, tree: str | None = None, *, stale: bool = False) -> Snapshot:
    """A commit of the ticket as the checkpoint says it is stacked."""
    return Snapshot(sha, tree, record.checkpoint.predecessor_sha, stale)


def present(record: Record, sha: str, around: Surroundings) -> Snapshot:
    """A commit of the ticket with what a look shows: its tree, and whether what it is stacked on has moved since."""
    tree = around.work_tree if around.asked.work == sha else None
    stale = isinstance(stacking(record.checkpoint, around), MovedOn)
    return snapshot_of(record, sha, tree, stale=stale)


def validations_of(record: Record) -> tuple[Validation, ...]:
    """The record's validations that can be read; what a holder pushed in another form says nothing."""
    read = []
    for fields in record.validations:
        try:
            read.append(Validation.model_validate(fields))
        except ValidationError:
            continue
    return tuple(read)


def recorded(record: Record, validation: Validation, *, now: datetime) -> Record:
    """The record with one more result: the profile's latest. What the service knows better it sets itself."""
    stamped = validation.model_copy(
        update={
            "predecessor_sha": record.checkpoint.predecessor_sha,
            "generation": record.generation,
            "recorded_at": now,
        }
    )
    others = [fields for fields in record.validations if fields.get("profile") != stamped.profile]
    kept = [*others, stamped.model_dump(mode="json", exclude_defaults=True)]
    while len(kept) > 1 and len(json.dumps(kept).encode()) > MAX_STORED:
        del kept[0]
    return record.model_copy(update={"validations": tuple(kept)})


def version_of(commands: Sequence[Sequence[str]]) -> str:
    """The version of a profile that is nothing but its commands."""
    text = json.dumps([list(command) for command in commands], ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def name_of(command: Sequence[str]) -> str:
    """A command as the name of a check."""
    return _told(" ".join(command) or "(no command)")


def listed(names: Sequence[str]) -> str:
    """Names of profiles inside a sentence of ours: plain words as they are, any other one without its text, which
    stands with the result itself.
    """
    return ", ".join(name if _PLAIN_NAME.fullmatch(name) else "one with a longer name" for name in names)


def name_for_story(validation: Validation) -> str:
    """A result as the subject of a ledger commit tells it: numbers and our own words only."""
    done, failed, left = (len(names) for names in (validation.completed, validation.failed, validation.not_run))
    return f"{done} passed, {failed} failed, {left} not run"


def of_verify(
    commands: Sequence[Sequence[str]], exit_codes: Mapping[tuple[str, ...], int], head_sha: str
) -> Validation:
    """The result of the policy's verify commands: those without an exit code did not run."""
    ran = {tuple(command): exit_codes.get(tuple(command)) for command in commands[:MAX_CHECKS]}
    return Validation(
        profile=VERIFY,
        version=version_of(commands),
        validated_sha=head_sha,
        completed=tuple(name_of(c) for c, code in ran.items() if code == 0),
        failed=tuple(name_of(c) for c, code in ran.items() if code not in (0, None)),
        not_run=tuple(name_of(c) for c, code in ran.items() if code is None),
    )


def shown(record: Record, snapshot: Snapshot) -> tuple[ShownValidation, ...]:
    """Every recorded result with what it says about a snapshot, for the brief and the check-run."""
    return tuple(_shown(validation, judged(validation, snapshot)) for validation in validations_of(record))


def _shown(validation: Validation, verdict: Judgement) -> ShownValidation:
    return ShownValidation(
        profile=validation.profile,
        version=validation.version,
        snapshot=validation.snapshot,
        state="passed" if isinstance(verdict, Passed) else "failed" if isinstance(verdict, Failed) else "not run",
        because=verdict.reason if isinstance(verdict, NotRun) else None,
        completed=validation.completed,
        failed=validation.failed,
        not_run=validation.not_run,
        artifacts=validation.artifacts,
        deterministic=validation.deterministic,
        dependencies=validation.dependencies,
    )


def _is_of(validation: Validation, snapshot: Snapshot) -> bool:
    if validation.validated_sha is not None:
        return validation.validated_sha == snapshot.sha
    return snapshot.tree is not None and validation.validated_snapshot == f"tree:{snapshot.tree}"
