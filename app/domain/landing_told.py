"""Showing what is in a landing's way: one short list, the same in the handoff comment, the check-run and the brief.

It is shown once the holder says that the work is ready, or a person asked for its landing: before that a ticket at work
would be told every minute that it is not finished. What passes by itself within seconds is left out: it would only make
the texts flicker.
"""

import re

from app.domain.fencing import Head
from app.domain.landing import in_its_way
from app.domain.landing_blocker import Blocker, BlockerCode
from app.domain.landing_evidence import LandingEvidence
from app.domain.observation import Observation
from app.domain.policy import PATH, Policy
from app.domain.record import TERMINAL, Record
from app.domain.situation import Situation
from app.domain.stack_gate import rebase_first
from app.domain.undermined import undermined
from app.domain.untrusted import inline

MOST_SHOWN = 6
_NAME_BYTES = 120
_LINE_BYTES = 400
_PLAIN = re.compile(r"[A-Za-z0-9 ._/=+-]{1,400}")
_IN_SECONDS = frozenset({BlockerCode.HEAD_MOVING, BlockerCode.MERGEABLE_UNKNOWN, BlockerCode.NOT_LOOKED})


def standing_in_the_way(
    record: Record,
    observation: Observation,
    policy: Policy | None,
    head: Head | None,
    evidence: LandingEvidence | None,
) -> tuple[Blocker, ...]:
    """All that is in the way of the ticket's landing; nothing where landing is no question. Before the ticket is ready
    it is only told that the one below landed as other commits: the sooner its holder knows, the less is to be moved.
    `policy` is None where none is in force.
    """
    if head is None or record.child is not None:
        return ()
    if not _is_about_to_land(record):
        stale = undermined(record, observation) if record.status not in TERMINAL else None
        return () if stale is None else (rebase_first(stale),)
    if policy is None:
        remedy = f"correct {PATH} on the default branch"
        return (Blocker(BlockerCode.POLICY_UNREADABLE, "no policy that can be used is in force", remedy),)
    situation = Situation(
        observation=observation,
        record=record,
        policy=policy,
        head=head,
        tail=0,
        author_is_dead=lambda _: False,
        landing=evidence,
    )
    return in_its_way(situation)


def lasting(blockers: tuple[Blocker, ...]) -> tuple[Blocker, ...]:
    """Those that do not pass by themselves within seconds."""
    return tuple(blocker for blocker in blockers if blocker.code not in _IN_SECONDS)


def lines(blockers: tuple[Blocker, ...]) -> list[str]:
    """One line of Markdown each, the most useful first and few of them; what others wrote is neutralised."""
    shown = lasting(blockers)
    more = len(shown) - MOST_SHOWN
    return [*map(_line, shown[:MOST_SHOWN]), *([f"and {more} more"] if more > 0 else [])]


def _line(blocker: Blocker) -> str:
    quoted = ", ".join(inline(name, _NAME_BYTES) for name in blocker.quoted)
    about = f" ({quoted})" if quoted else ""
    helps = f"What helps: {inline(blocker.remedy, _LINE_BYTES)}."
    if blocker.command is not None:
        helps += f" {_command(blocker.command)}"
    return f"{inline(_sentence(blocker.reason), _LINE_BYTES)}{about}. {helps}"


def _command(words: tuple[str, ...]) -> str:
    """Fit to be copied where no word has a sign that means something to Markdown or to a shell."""
    line = " ".join(words)
    return f"`{line}`" if _PLAIN.fullmatch(line) else inline(line, _LINE_BYTES)


def plain(blocker: Blocker) -> str:
    """The blocker in our own words alone, for a reader to whom others' words are given apart."""
    return f"{blocker.reason}; what helps: {blocker.remedy}"


def quoted(blockers: tuple[Blocker, ...]) -> tuple[str, ...]:
    """What the blockers are about, in others' words, each after its code."""
    return tuple(f"{blocker.code}: {name}" for blocker in lasting(blockers) for name in blocker.quoted)


def _sentence(reason: str) -> str:
    return reason[:1].upper() + reason[1:]


def _is_about_to_land(record: Record) -> bool:
    """Ready, or asked for by a person; also where a hold came in between."""
    was_ready = record.status == "held" and (record.held is None or record.held.before == "ready")
    return record.status == "ready" or was_ready or record.landing.asked is not None
