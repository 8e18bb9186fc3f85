"""Glancing at a repository: what a sweep reads of it, whatever its size.

The refs come first and cost one exchange. A repository without tickets in progress and without a policy that lets
anything be written is done with that, as long as its default branch stands still.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import blake2b

from app.controller.sweep_marks import Base, Swept
from app.domain.branches import owner_of_branch
from app.domain.glance import EVERY, Glance
from app.domain.observation import Observation
from app.domain.policy import Mode, Policy
from app.domain.policy_in_force import InForce
from app.domain.refs import BRANCH_NAMESPACE, DEFAULT_NAMESPACE, LedgerRefs
from app.domain.release_glance import releases_in
from app.domain.ticket_id import TicketId
from app.github.overview import Overview, Touched
from app.github.refs import RefValue
from app.github.repository import Repository

OVERLAP = timedelta(minutes=5)
"""Asked for twice, because GitHub's lists may lag behind what happened."""
PolicyOf = Callable[[Repository, Observation], Awaitable[InForce]]
"""The policy in force in a repository that was looked at as a whole."""
_NAMESPACES = (LedgerRefs(DEFAULT_NAMESPACE), LedgerRefs(BRANCH_NAMESPACE))
_HEADS = "refs/heads/"


@dataclass(frozen=True)
class Glanced:
    """What was seen. `scope`: the tickets it tells of; `elsewhere`: tickets of other repositories, by full name and
    number, that something here concerns; `ended`: tickets that ended and whose open Issue was touched; `releases`: the
    marks of releases by their trunks, None where they were not looked at; `guarded`: whether a pull request goes into
    the base of releases.
    """

    at: datetime
    base: Base
    glance: Glance
    scope: frozenset[TicketId]
    elsewhere: frozenset[tuple[str, int]] = frozenset()
    ended: frozenset[int] = frozenset()
    releases: Mapping[str, str] | None = None
    guarded: bool = False


def names_of(tickets: Iterable[TicketId]) -> tuple[str, ...]:
    """Every name under which a ledger of these may lie."""
    return tuple(
        name for ticket in tickets for refs in _NAMESPACES for name in (refs.active(ticket), refs.done(ticket))
    )


async def glance_at(repo: Repository, last: Swept | None, now: datetime, policy_of: PolicyOf) -> Glanced:
    """Look over a repository. `last`: what the sweep before saw. Raises GitHubError."""
    prefixes = [prefix for refs in _NAMESPACES for prefix in (refs.active_prefix, refs.releases_prefix)]
    values = await repo.refs_below(*prefixes, _HEADS)
    ledgers = _ledgers(values)
    branches = {value.name.removeprefix(_HEADS): value.sha for value in values if _is_branch(value.name)}
    head = branches.get(repo.default_branch, "")
    if not ledgers and last is not None and (last.base.head, last.base.policy) == (head, ""):
        return Glanced(now, last.base, Glance({}, branches, (), {}), frozenset())
    overview = await repo.overview()
    policy = await _policy(repo, overview, head, now, policy_of)
    version = overview.policy.oid if overview.policy is not None and policy is not None else ""
    touched = await _touched(repo, last, policy)
    waiting = await repo.waiting_for([one.number for one in touched if not one.is_pull]) if ledgers else []
    scope = frozenset(ledgers) | _enrolled(policy, branches, touched)
    when = {one.number: one.updated_at for one in touched}
    concerns = [(one.ticket, one.updated_at) for one in touched if one.ticket is not None]
    home = repo.full_name.lower()
    glance = Glance(ledgers, branches, overview.pulls, {})
    concerns += [(w.number, when[w.blocked_by]) for w in waiting if w.repository.lower() == home]
    return Glanced(
        at=now,
        base=Base(head, version, _others(overview, branches, touched, ledgers, now)),
        glance=replace(glance, touched=_newest(concerns)),
        scope=scope,
        elsewhere=frozenset((w.repository, w.number) for w in waiting if w.repository.lower() != home),
        ended=await _ended(repo, [one.number for one in touched if one.is_open and not one.is_pull], scope),
        releases=_releases(repo, values, glance, policy, now),
        guarded=policy is not None
        and any(p.base == (policy.release.into or repo.default_branch) for p in glance.pulls),
    )


async def _touched(repo: Repository, last: Swept | None, policy: Policy | None) -> list[Touched]:
    """What was touched since the last sweep; before the first one, what the policy's label takes in."""
    if last is not None:
        return await repo.touched_since(last.at - OVERLAP)
    label = policy.enroll.label if policy is not None else None
    return await repo.labelled(label) if label is not None else []


async def _ended(repo: Repository, numbers: list[int], scope: frozenset[TicketId]) -> frozenset[int]:
    """Of the open Issues that were touched, those whose tickets had ended: somebody may have opened them again."""
    asked = [number for number in numbers if number not in scope]
    if not asked:
        return frozenset()
    names = {refs.done(number): number for number in asked for refs in _NAMESPACES}
    return frozenset(names[value.name] for value in await repo.refs_below(*names) if value.name in names)


def _ledgers(values: Iterable[RefValue]) -> dict[TicketId, str]:
    found: dict[TicketId, str] = {}
    for value in values:
        for refs in _NAMESPACES:
            ticket = refs.ticket_of(value.name)
            if ticket is not None and value.name == refs.active(ticket):
                found.setdefault(ticket, value.sha)
    return found


def _releases(
    repo: Repository, values: Iterable[RefValue], glance: Glance, policy: Policy | None, now: datetime
) -> Mapping[str, str]:
    if policy is None:
        return {}
    ledgers = {}
    for value in values:
        for refs in _NAMESPACES:
            branch = refs.branch_of(value.name)
            if branch is not None:
                ledgers[branch] = value.sha
    return releases_in(glance, ledgers, policy, repo.default_branch, now)


def _is_branch(name: str) -> bool:
    return name.startswith(_HEADS) and not name.startswith(f"{BRANCH_NAMESPACE}/")


async def _policy(repo: Repository, overview: Overview, head: str, now: datetime, policy_of: PolicyOf) -> Policy | None:
    """The policy in force, where it lets anything be written."""
    if overview.policy is None:
        return None
    shown = Observation(
        now=now,
        repository_id=repo.id,
        owner=repo.owner,
        name=repo.name,
        default_branch=repo.default_branch,
        default_head=head or None,
        policy_text=overview.policy.text,
        issue=None,
    )
    policy = (await policy_of(repo, shown)).policy
    return policy if policy is not None and policy.mode is not Mode.OBSERVE else None


def _enrolled(policy: Policy | None, branches: Iterable[str], touched: Iterable[Touched]) -> frozenset[TicketId]:
    """Tickets that nobody need have claimed."""
    if policy is None:
        return frozenset()
    owners = (owner_of_branch(name) for name in branches if policy.enroll.branch)
    label = policy.enroll.label
    named = (one.number for one in touched if label is not None and label in one.labels and not one.is_pull)
    return frozenset(owner for owner in owners if isinstance(owner, int)) | frozenset(named)


def _others(
    overview: Overview,
    branches: Mapping[str, str],
    touched: Iterable[Touched],
    ledgers: Mapping[TicketId, str],
    now: datetime,
) -> str:
    """A digest of what belongs to no ticket in progress. It differs four times a day at least, because what speaks
    against a ticket need not send a word.
    """
    lines = [f"{name} {sha}" for name, sha in branches.items() if _is_loose(name, ledgers)]
    for pull in overview.pulls:
        if not pull.own_repository or owner_of_branch(pull.head) not in ledgers:
            lines.append(f"#{pull.number} {pull.head_sha} {pull.base} {pull.updated_at}")
    lines += [f"{one.number} {one.updated_at}" for one in touched if one.ticket not in ledgers]
    turn = int(now.timestamp() // EVERY.total_seconds())
    return blake2b("\n".join([str(turn), *sorted(lines)]).encode(), digest_size=12).hexdigest()


def _is_loose(branch: str, ledgers: Mapping[TicketId, str]) -> bool:
    owner = owner_of_branch(branch)
    return owner is not None and owner not in ledgers


def _newest(concerns: Iterable[tuple[int, str]]) -> dict[TicketId, str]:
    found: dict[TicketId, str] = {}
    for ticket, moment in concerns:
        found[ticket] = max(moment, found.get(ticket, ""))
    return found
