"""One look at a ticket: GitHub's state, the ledger, the policy, and whether the ledger may be acted on at all."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from app.controller.family import Families, Family
from app.controller.heartbeats import Heartbeats, Holder
from app.controller.interests import Interests
from app.controller.keyring import Keyring
from app.controller.landing_look import LandingLook, look_at_landing
from app.controller.policies import Policies
from app.controller.run_look import RunLook, RunLooks
from app.controller.standing_trunks import standing_trunks
from app.controller.witnessing import Witnessing
from app.domain.admitted_again import admitted_again
from app.domain.asked import asked_for, asked_of_policy
from app.domain.board import asks_for_trunks
from app.domain.branch_names import ticket_branch
from app.domain.branches import child_branch, ticket_of_branch
from app.domain.fencing import Head, Relation, head_of, needs_relation
from app.domain.keys import TicketKey
from app.domain.observation import Branch, Observation
from app.domain.policy import Policy
from app.domain.policy_in_force import InForce
from app.domain.record import Record
from app.domain.refs import BRANCH_NAMESPACE, DEFAULT_NAMESPACE, LedgerRefs
from app.domain.report import Frozen
from app.domain.run_seen import RunSeen
from app.domain.stack_moves import pin_asked
from app.domain.surroundings import Asked
from app.domain.ticket_id import Child, TicketId, by_number, number_of
from app.github.client import GitHub
from app.github.errors import Moved, NotFound
from app.github.history import Comparison
from app.github.refs import RefValue
from app.github.repository import Repository
from app.ledger.api import ApiLedger
from app.ledger.reading import Absent, Damaged, LedgerCache, Standing

LIKELY_BRANCHES = 3
FURTHER_LOOKS = 2
"""At a ledger that a witness seems to contradict: each may fall before one write and its witness."""
_KEPT_COMPARISONS = 512
_KEPT_REPOSITORIES = 256


@dataclass(frozen=True)
class View:
    """What a decision or an answer is made from. `standing` is None where no ledger stands or it is damaged; then
    `frozen` says whether that is a fault. `comparison` is there where the branch is not where it was published.
    """

    repo: Repository
    ledger: ApiLedger
    ticket: TicketId
    observation: Observation
    policy: InForce
    standing: Standing | None
    frozen: Frozen | None
    head: Head | None
    comparison: Comparison | None
    heartbeat_at: datetime | None
    family: Family = field(default_factory=Family)
    landing: LandingLook = field(default_factory=LandingLook)
    trunks: tuple[Branch, ...] | None = None
    """The trunks that stand, read only where the board moved the ticket to another release."""
    runs: RunLook = field(default_factory=RunLook)

    @property
    def run(self) -> RunSeen | None:
        """The run that was started for the ticket or holds it, as it is now; None where the record names none."""
        return self.runs.run

    @property
    def run_ended(self) -> bool:
        """Whether the workflow run that holds the ticket is over: its holder is dead at once."""
        return self.runs.holder_ended

    @property
    def now(self) -> datetime:
        return self.observation.now

    @property
    def key(self) -> str:
        """What pokes name this ticket by: GitHub's own spelling, whatever the caller's."""
        return str(TicketKey(self.repo.full_name, self.ticket))

    @property
    def record(self) -> Record | None:
        return self.standing.record if self.standing else None

    def head_under(self, record: Record) -> Head:
        """How the branch stands under another record than the one that was read, such as one just written."""
        return head_of(record, self.observation, _relation(self.comparison))

    @property
    def usable_policy(self) -> Policy | None:
        return self.policy.policy


class Views:
    """Looks at tickets. Keeps what is immutable (verified ledger commits, comparisons of two commits), no state."""

    def __init__(self, github: GitHub, keys: Keyring, heartbeats: Heartbeats, witnessing: Witnessing) -> None:
        self._github = github
        self._keys = keys
        self._heartbeats = heartbeats
        self._witnessing = witnessing
        self._ledgers: OrderedDict[int, ApiLedger] = OrderedDict()
        self._cache = LedgerCache()
        self._families = Families(heartbeats, witnessing)
        self._comparisons: OrderedDict[tuple[int, str, str], Comparison] = OrderedDict()
        self._interests = Interests()
        self._policies = Policies()
        self._run_looks = RunLooks()

    async def look(self, owner: str, name: str, ticket: TicketId, refs: Sequence[RefValue] | None = None) -> View:
        """Read the ledger and GitHub's state, in a number of requests that depends on neither's age or size. `refs`:
        those of the ticket's ledgers, where they were read a moment ago.

        The ledger is read first, because it names the branch to look at. Raises GitHubError where GitHub does not
        answer: half a look is no look.
        """
        repo, observation, ledger, reading = await self._found(owner, name, ticket, refs)
        policy = await self._policies.in_force(repo, observation)
        if policy.policy is not None and policy.policy.ledger.namespace != ledger.refs.namespace:
            ledger = self._ledger(repo, LedgerRefs(policy.policy.ledger.namespace))
            reading = await ledger.read(ticket)
            observation = await self._observe(repo, ticket, reading)
        if self._interests.learn(repo.id, asked_of_policy(policy.policy)):
            observation = await self._observe(repo, ticket, reading)
        frozen = await self._witnessing.judge(repo, ledger, ticket, reading, observation)
        for _ in range(FURTHER_LOOKS):
            if frozen is None or isinstance(reading, Damaged):
                break
            # The ledger was read before the witnesses: somebody may just have written both, a birth and then a claim.
            reading = await ledger.read(ticket)
            frozen = await self._witnessing.judge(repo, ledger, ticket, reading, observation)
        standing = readable(reading) if isinstance(reading, Standing) else None
        comparison = await self._compare(repo, standing.record, observation) if standing and not frozen else None
        usable = standing if frozen is None else None
        contains = partial(self._contains, repo)
        head = _head(standing, observation, comparison)
        landing = LandingLook()
        if usable is not None and head is not None:
            landing = await look_at_landing(
                repo, usable.record, policy.policy, head, observation, contains, ledger.refs
            )
        return View(
            repo=repo,
            ledger=ledger,
            ticket=ticket,
            observation=observation,
            policy=policy,
            standing=standing,
            frozen=frozen,
            head=head,
            comparison=comparison,
            heartbeat_at=await self._heartbeat(repo, standing),
            family=await self._families.of(repo, ledger, usable, policy.policy, contains, observation.now),
            landing=landing,
            trunks=await _trunks_asked_for(repo, usable, policy.policy, observation),
            runs=await self._runs(repo, usable, policy.policy, observation.now),
        )

    async def _found(
        self, owner: str, name: str, ticket: TicketId, refs: Sequence[RefValue] | None
    ) -> tuple[Repository, Observation, ApiLedger, Standing | Absent | Damaged]:
        try:
            repo = await self._github.repository(owner, name)
            ledger = self.ledger_of(repo)
            reading = await ledger.read(ticket, refs)
        except (NotFound, Moved) as missing:
            raise Gone(missing.message, status=missing.status, route=missing.route) from missing
        try:
            observation = await self._observe(repo, ticket, reading)
        except (NotFound, Moved) as missing:
            raise Gone(missing.message, status=missing.status, route=missing.route) from missing
        if isinstance(reading, Absent) and observation.issue is None and not observation.is_pull_request:
            raise NoIssue(f"no Issue and no pull request has the number {number_of(ticket)}")
        return repo, observation, ledger, reading

    async def policy_of(self, repo: Repository, shown: Observation) -> InForce:
        """The policy in force in a repository that was looked at as a whole. Raises GitHubError."""
        return await self._policies.in_force(repo, shown)

    def assume(self, repo: Repository, policy: Policy) -> None:
        """Look from now on as if this were the policy in force in a repository."""
        self._policies.assume(repo.id, policy)

    def now(self) -> datetime:
        """The present moment by the clock that follows GitHub's."""
        return self._github.clock.now()

    async def ledger(self, owner: str, name: str) -> tuple[Repository, ApiLedger]:
        """A repository and its ledgers. Raises Gone."""
        try:
            repo = await self._github.repository(owner, name)
        except (NotFound, Moved) as missing:
            raise Gone(missing.message, status=missing.status, route=missing.route) from missing
        return repo, self.ledger_of(repo)

    async def active_tickets(self, owner: str, name: str) -> list[TicketId]:
        """The tickets in progress of a repository and their children, in both namespaces, because its policy is not
        read for this. Raises Gone.
        """
        repo, _ = await self.ledger(owner, name)
        found: set[TicketId] = set()
        for namespace in (DEFAULT_NAMESPACE, BRANCH_NAMESPACE):
            found.update(ticket for ticket, _ in await self._new(repo, LedgerRefs(namespace)).active_tickets())
        return sorted(found, key=by_number)

    async def ended_tickets(self, owner: str, name: str) -> tuple[Repository, list[tuple[TicketId, str]]]:
        """A repository, and its ended tickets with their ledger heads, in both namespaces as `active_tickets`. Raises
        Gone.
        """
        repo, _ = await self.ledger(owner, name)
        found: dict[TicketId, str] = {}
        for namespace in (BRANCH_NAMESPACE, DEFAULT_NAMESPACE):
            found.update(await self._new(repo, LedgerRefs(namespace)).ended_tickets())
        return repo, sorted(found.items(), key=lambda pair: by_number(pair[0]))

    def ledger_of(self, repo: Repository) -> ApiLedger:
        """The ledgers of a repository, in the namespace its policy named when it was last read."""
        known = self._ledgers.get(repo.id)
        return known if known is not None else self._ledger(repo, LedgerRefs(DEFAULT_NAMESPACE))

    def ledger_under(self, repo: Repository, policy: Policy) -> ApiLedger:
        """The ledgers of a repository, in the namespace that this policy names."""
        known = self.ledger_of(repo)
        same = known.refs.namespace == policy.ledger.namespace
        return known if same else self._ledger(repo, LedgerRefs(policy.ledger.namespace))

    def _ledger(self, repo: Repository, refs: LedgerRefs) -> ApiLedger:
        ledger = self._ledgers[repo.id] = self._new(repo, refs)
        while len(self._ledgers) > _KEPT_REPOSITORIES:
            self._ledgers.popitem(last=False)
        return ledger

    def _new(self, repo: Repository, refs: LedgerRefs) -> ApiLedger:
        secrets = self._keys.secrets_of(repo.id)
        return ApiLedger(repo, refs, self._keys.public_keys, self._keys.sealer, secrets, self._cache)

    async def _observe(self, repo: Repository, ticket: TicketId, reading: Standing | Absent | Damaged) -> Observation:
        number = number_of(ticket)
        by_policy = self._interests.of(repo.id, self._github.clock.now())
        if isinstance(reading, Standing):
            record = reading.record
            asked = asked_for(record, repo.full_name, by_policy)
            pull = record.projections.pr_number
            observation = await repo.observe(number, record.branch, record.trunk, pull, asked)
            further = pin_asked(record, observation)
            if further is not None:
                observation = await repo.observe(number, record.branch, record.trunk, pull, further)
            if observation.issue is None and not observation.is_pull_request and reading.place == "active":
                observation = replace(observation, whereabouts=await repo.whereabouts(number))
        else:
            observation = await self._observe_without_ledger(repo, ticket, by_policy)
        if by_policy.project and observation.around.project_items is None and observation.issue is not None:
            self._interests.no_projects(repo.id, observation.now)
        return observation

    async def _observe_without_ledger(self, repo: Repository, ticket: TicketId, by_policy: Asked) -> Observation:
        # Nothing names the branch now, but its PR and check-runs may remember a ledger that stood here.
        number = number_of(ticket)
        observation = await repo.observe(number, None, None, asked=by_policy)
        for branch in _likely_branches(ticket, observation)[:LIKELY_BRANCHES]:
            seen = await repo.observe(number, branch, None, asked=by_policy)
            if seen.pulls or seen.check_runs:
                return seen
        return observation

    async def _compare(self, repo: Repository, record: Record, observation: Observation) -> Comparison | None:
        pair = needs_relation(record, observation)
        return None if pair is None else await self.compared(repo, *pair)

    async def _contains(self, repo: Repository, sha: str, head: str) -> bool:
        return (await self.compared(repo, sha, head)).status in ("ahead", "identical")

    async def compared(self, repo: Repository, base: str, head: str) -> Comparison:
        """How one commit stands to another; asked once, because two commits never change. Raises GitHubError."""
        key = (repo.id, base, head)
        if key not in self._comparisons:
            try:
                self._comparisons[key] = await repo.compare(base, head)
            except NotFound:
                # No common ancestor: a foreign history was put in place of the branch.
                return Comparison("diverged", 0, 0, ())
            while len(self._comparisons) > _KEPT_COMPARISONS:
                self._comparisons.popitem(last=False)
        return self._comparisons[key]

    async def _runs(self, repo: Repository, standing: Standing | None, policy: Policy | None, now: datetime) -> RunLook:
        return RunLook() if standing is None else await self._run_looks.look(repo, standing.record, policy, now)

    async def _heartbeat(self, repo: Repository, standing: Standing | None) -> datetime | None:
        lease = standing.record.lease if standing else None
        if standing is None or lease is None:
            return None
        return await self._heartbeats.last_seen(
            Holder(repo.id, str(standing.record.ticket_id), lease.generation, lease.nonce)
        )


class Gone(NotFound):
    """The repository or the Issue is not there (any more), or the App may not see it: the key has nothing to name."""


class NoIssue(Gone):
    """The repository is there; no Issue and no pull request has the number."""


async def _trunks_asked_for(
    repo: Repository, standing: Standing | None, policy: Policy | None, observation: Observation
) -> tuple[Branch, ...] | None:
    if standing is None or policy is None or not asks_for_trunks(standing.record, observation, policy):
        return None
    return await standing_trunks(repo, policy)


def _likely_branches(ticket: TicketId, observation: Observation) -> list[str]:
    """Where a ticket without a readable ledger may have had its branch: by the grammar, and by its Issue's title."""
    issue = observation.issue
    if issue is None:
        return []
    if isinstance(ticket, Child):
        return [child_branch(ticket)]
    named = [b.name for b in observation.branches if ticket_of_branch(b.name) == issue.number]
    return list(dict.fromkeys([ticket_branch(issue.number, issue.title), *named]))


def readable(standing: Standing) -> Standing:
    """The ledger's head with what may be shown of its checkpoint: a holder pushes it by git, past our admission."""
    return replace(standing, record=admitted_again(standing.record))


def _head(standing: Standing | None, observation: Observation, comparison: Comparison | None) -> Head | None:
    if standing is None:
        return None
    return head_of(standing.record, observation, _relation(comparison))


def _relation(comparison: Comparison | None) -> Relation | None:
    if comparison is None:
        return None
    return Relation.ON_TOP if comparison.status in ("ahead", "identical") else Relation.ELSEWHERE
