"""What a recovery is judged from: one look at GitHub, the ledger's word, and what the agent's side showed."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from app.domain.agent_api import EvidenceRequest
from app.domain.checkpoint import Checkpoint
from app.domain.fencing import Head
from app.domain.landing_evidence import LandingEvidence
from app.domain.lease import Live, Liveness, Suspect
from app.domain.observation import Observation, Pull
from app.domain.plain_text import one_line, shorten
from app.domain.policy import Policy
from app.domain.record import Record, Work
from app.domain.shown_child import ShownChild
from app.domain.situation import ticket_pull

State = Literal["done", "not_applicable", "pending", "blocked"]
Found = tuple[State, str, dict[str, Any]]
"""What a step of the recovery found: its state, in words, and the evidence."""
Verdict = tuple[bool | None, str]
"""Whether a completion criterion is met, and why; None where it cannot be judged yet or does not apply."""

MAX_TASKS = 100
MAX_TASK_BYTES = 300

_TASK = re.compile(r"^[ \t]{0,12}[-*+] \[[ xX]\][ \t]+(\S[^\n]*)$", re.MULTILINE)
_FENCE = re.compile(r"^[ ]{0,3}(```|~~~)[^\n]*\n.*?(?:^[ ]{0,3}\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class RecoveryView:
    """`record` is None where nobody ever claimed, `head` and `evidence` where there are none yet."""

    record: Record | None
    observation: Observation
    policy: Policy | None
    holder: Liveness
    head: Head | None = None
    evidence: EvidenceRequest | None = None
    children: tuple[ShownChild, ...] = ()
    landing: LandingEvidence | None = None
    """What GitHub asks of the ticket's PR, where it was read."""
    policy_note: str | None = None
    """That an older policy than the file's is in force, and why."""

    @property
    def now(self) -> datetime:
        return self.observation.now

    @property
    def checkpoint(self) -> Checkpoint:
        return self.record.checkpoint if self.record is not None else Checkpoint()

    @property
    def work(self) -> Work | None:
        """Where the work goes, by the service's word; what the agent's checkpoint says of it decides nothing."""
        return self.record.work if self.record is not None else None

    @property
    def is_held(self) -> bool:
        return isinstance(self.holder, Live | Suspect)

    @property
    def pull(self) -> Pull | None:
        return ticket_pull(self.record, self.observation) if self.record is not None else None

    @property
    def start_sha(self) -> str | None:
        """The commit to work from: the published head, else the base."""
        published = self.record.published if self.record is not None else None
        if published is not None:
            return published.sha
        return self.work.base_sha if self.work is not None else None

    @property
    def has_checkpoint(self) -> bool:
        """Whether an agent has ever said anything about the work."""
        c = self.checkpoint
        return bool(c.completed_steps or c.next_steps or c.objective or c.blockers or c.pending_validation)


def tasks_of(issue_body: str) -> tuple[str, ...]:
    """The lines of an Issue's task list, ticked or not (a tick proves nothing), outside code blocks; shortened."""
    lines = _TASK.findall(_FENCE.sub("", issue_body.replace("\r\n", "\n")))
    return tuple(shorten(one_line(line), MAX_TASK_BYTES)[0] for line in lines[:MAX_TASKS])
