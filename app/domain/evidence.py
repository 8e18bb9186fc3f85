"""What the evidence that ends a recovery makes of the verify commands' result.

The commands that the agent's side ran are a new result of the commit it stands on. One it left out because a recorded
result stands counts only where the service's own reading of the record agrees; else it did not run.
"""

from datetime import datetime

from app.domain.agent_api import EvidenceRequest
from app.domain.record import Record
from app.domain.surroundings import Surroundings
from app.domain.validation import (
    VERIFY,
    Passed,
    of_verify,
    present,
    recorded,
    reusable,
    validations_of,
    version_of,
)


def with_evidence(
    record: Record,
    request: EvidenceRequest,
    commands: tuple[tuple[str, ...], ...],
    around: Surroundings,
    *,
    now: datetime,
) -> Record:
    """The record with the result of the policy's verify commands on the commit that was shown. A tree that is not
    clean is no commit, so what ran on it says nothing.
    """
    if not commands or not request.clean:
        return record
    known = next((v for v in validations_of(record) if v.profile == VERIFY), None)
    version = version_of(commands)
    snapshot = present(record, request.head_sha, around)
    stands = reusable(known, snapshot, version=version, dependencies=request.dependencies)
    reused = {run.command for run in request.verify if run.reused} if isinstance(stands, Passed) else frozenset()
    if reused >= set(commands):
        return record
    codes = {run.command: run.exit_code for run in request.verify if not run.reused}
    made = of_verify(commands, codes | dict.fromkeys(reused, 0), request.head_sha)
    declared = known is not None and known.version == version and known.deterministic
    made = made.model_copy(update={"deterministic": declared, "dependencies": request.dependencies})
    return recorded(record, made, now=now)
