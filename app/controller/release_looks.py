"""Looking at releases: GitHub's state, the sealed record, and whether the people whose word was taken stand by it.

A look without anybody's word costs the policy, the ledger and what GitHub shows; where words stand, their comments and
the roles of their authors are asked for again, every time. What GitHub does not answer is carried as unread: it permits
nothing and voids nothing.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from app.controller.keyring import Keyring
from app.controller.release_leases import ReleaseLeases
from app.controller.release_witnessing import ReleaseWitnessing
from app.controller.sweep_marks import SweepMarks
from app.controller.view import Gone, Views
from app.domain.observation import Observation
from app.domain.permission import Membership, Role
from app.domain.policy import PATH, Mode, Policy
from app.domain.policy_in_force import InForce
from app.domain.pull_class import Ground
from app.domain.refs import LedgerRefs
from app.domain.release_external_id import ReleaseWitness, witness
from app.domain.release_incident import carrying, incident_marker, merge_seen
from app.domain.release_observation import Account, ReleaseObservation, Unread
from app.domain.release_record import Person, ReleaseRecord
from app.domain.report import Frozen
from app.domain.source_comment import CommentGone, SourceComment
from app.domain.trunks import is_trunk
from app.github.discovery import Page
from app.github.errors import Conflict, Forbidden, GitHubError, Moved, NotFound
from app.github.repository import Repository
from app.ledger.reading import Damaged
from app.ledger.releases import ReleaseCache, ReleaseLedger, ReleaseLedgerStanding

SINCE_BEFORE = timedelta(minutes=10)
"""An incident's Issue is looked for among those touched since a little before the merge that it tells of."""
MOST_OTHERS = 100
"""Other releases that are asked whether they brought a merge along, before it is told as an incident."""
_KEPT = 256


@dataclass(frozen=True)
class Speaker:
    """Who says something about a release now, and the comment in which it stands; None where it is no comment's."""

    by: Person
    comment_id: int | None = None


@dataclass(frozen=True)
class Place:
    """A repository and its policy at this moment. `policy` None: none is in force."""

    repo: Repository
    policy: InForce
    archived: bool
    default_branch: str
    now: datetime

    @property
    def usable(self) -> Policy | None:
        """The policy, where it lets anything be written."""
        policy = self.policy.policy
        return policy if policy is not None and policy.mode is not Mode.OBSERVE and not self.archived else None

    def ground(self, policy: Policy) -> Ground:
        return Ground(self.default_branch, policy.release.into or self.default_branch, policy.trunks)


@dataclass(frozen=True)
class ReleaseView:
    """What a decision or an answer about a release is made from. `standing` is None where no ledger stands, or where it
    must not be acted on: `frozen` says then why. `witness`: how far the ledger is known to have come, which the guard
    goes on to remember.
    """

    place: Place
    policy: Policy
    ledger: ReleaseLedger
    observation: ReleaseObservation
    standing: ReleaseLedgerStanding | None
    frozen: Frozen | None
    witness: ReleaseWitness | None = None
    since: datetime | None = None
    """Where no ledger stands: since when the release is known all the same, so that its merges had to be authorized."""

    @property
    def repo(self) -> Repository:
        return self.place.repo

    @property
    def now(self) -> datetime:
        return self.observation.now

    @property
    def branch(self) -> str:
        return self.observation.branch

    @property
    def record(self) -> ReleaseRecord | None:
        return self.standing.record if self.standing is not None else None


class ReleaseLooks:
    """Looks at releases. Keeps judged ledger commits and what their history told, no state."""

    def __init__(self, views: Views, keys: Keyring, witnessing: ReleaseWitnessing, marks: SweepMarks) -> None:
        self._views = views
        self._keys = keys
        self._witnessing = witnessing
        self._marks = marks
        self._leases = ReleaseLeases(views, witnessing)
        self._cache = ReleaseCache()
        self._ledgers: OrderedDict[tuple[int, str], ReleaseLedger] = OrderedDict()

    async def place(self, owner: str, name: str) -> Place:
        """A repository with its policy; one request where the repository is known. Raises Gone, GitHubError."""
        repo, _ = await self._views.ledger(owner, name)
        nothing = Page(more=False)
        try:
            seen = await repo.discover(None, nothing, nothing, nothing, PATH)
        except (NotFound, Moved) as missing:
            raise Gone(missing.message, status=missing.status, route=missing.route) from missing
        shown = Observation(
            now=seen.now,
            repository_id=repo.id,
            owner=repo.owner,
            name=repo.name,
            default_branch=seen.default_branch,
            default_head=seen.default_head,
            policy_text=seen.policy_text,
            issue=None,
        )
        policy = await self._views.policy_of(repo, shown)
        return Place(repo, policy, seen.archived, seen.default_branch, seen.now)

    async def look(self, place: Place, branch: str, speaker: Speaker | None = None) -> ReleaseView | str:
        """One release as it stands now, or why the branch is no release's. `speaker`: whose word is to be judged.
        Raises GitHubError where GitHub does not answer: half a look is no look.
        """
        view = await self._look(place, branch, speaker)
        return view if isinstance(view, str) else await self._with_carried(view)

    async def _look(self, place: Place, branch: str, speaker: Speaker | None = None) -> ReleaseView | str:
        policy = place.usable
        if policy is None:
            return "the repository's policy allows no writes"
        ground = place.ground(policy)
        if branch == ground.into or not is_trunk(branch, policy.trunks, place.default_branch):
            return f"{branch} is no release branch by the policy"
        repo = place.repo
        ledger = self.ledger(repo, policy)
        reading = await ledger.read(branch)
        seen = await repo.release_observation(branch, ground.into)
        frozen = await self._witnessing.judge(repo, ledger, branch, reading, seen.guard_runs)
        if frozen is not None and not isinstance(reading, Damaged):
            # The ledger was read before the witnesses: somebody may just have written both.
            reading = await ledger.read(branch)
            frozen = await self._witnessing.judge(repo, ledger, branch, reading, seen.guard_runs)
        standing = reading if isinstance(reading, ReleaseLedgerStanding) and frozen is None else None
        record = standing.record if standing is not None else None
        seen = await self._with_people(repo, policy, record, seen, speaker)
        seen = await self._with_incidents(repo, record, seen)
        seen = await self._with_evidence(repo, policy, record, seen, asking=speaker is not None)
        since = await self._marks.watched_since(repo.id, branch) if standing is None else None
        shown = await self._witness(repo, ledger, branch, seen) if standing is None else None
        return ReleaseView(place, policy, ledger, seen, standing, frozen, shown, since)

    def ledger(self, repo: Repository, policy: Policy) -> ReleaseLedger:
        """The release ledgers of a repository, where its policy has them."""
        key = (repo.id, policy.ledger.namespace)
        known = self._ledgers.get(key)
        if known is None:
            refs = LedgerRefs(policy.ledger.namespace)
            known = ReleaseLedger(repo, refs, self._keys.public_keys, self._keys.sealer, self._cache)
            self._ledgers[key] = known
            while len(self._ledgers) > _KEPT:
                self._ledgers.popitem(last=False)
        return known

    async def _witness(
        self, repo: Repository, ledger: ReleaseLedger, branch: str, seen: ReleaseObservation
    ) -> ReleaseWitness | None:
        """The furthest that anything remembers of a ledger that is not there, or not to be believed."""
        known = await self._witnessing.witnesses(repo, ledger, branch, seen.guard_runs)
        furthest = max(known, key=lambda one: one.sequence, default=None)
        return witness(branch, furthest.sequence, furthest.commit_prefix) if furthest is not None else None

    async def _with_people(
        self,
        repo: Repository,
        policy: Policy,
        record: ReleaseRecord | None,
        seen: ReleaseObservation,
        speaker: Speaker | None,
    ) -> ReleaseObservation:
        """Comments and roles, for every word that stands and for whoever speaks now."""
        receipts = record.standing if record is not None else ()
        people = {one.by.id: one.by for one in receipts}
        comments = [one.source.comment_id for one in receipts]
        if speaker is not None:
            people[speaker.by.id] = speaker.by
            comments += [speaker.comment_id] if speaker.comment_id is not None else []
        if not people:
            return seen
        roles = {id: await _role(repo, one.login) for id, one in people.items()}
        return replace(
            seen,
            sources=await _sources(repo, comments),
            roles=roles,
            teams=await _teams(repo, policy, people),
            lease_accounts=await self._leases.accounts(repo, policy, seen),
            last_pusher=await _pusher(repo, seen) if policy.release.not_last_pusher else None,
        )

    async def _with_carried(self, view: ReleaseView) -> ReleaseView:
        """Where a merge would be told as an incident: whether another release's authorized one brought it along."""
        record, seen, policy = view.record, view.observation, view.policy
        if record is None:
            return view
        notes = ((pull, merge_seen(pull, record, seen, policy)) for pull in seen.pulls)
        untold = [pull for pull, note in notes if note is not None and note.problem is not None]
        if not untold:
            return view
        brought: dict[int, int] = {}
        default = view.place.default_branch
        others = [
            b for b, _ in await view.ledger.branches() if b != view.branch and is_trunk(b, policy.trunks, default)
        ]
        # Whoever may push can make refs by the thousand: what is no ledger costs little, and the incident is told.
        for branch in others[:MOST_OTHERS]:
            if not isinstance(await view.ledger.read(branch), ReleaseLedgerStanding):
                continue
            other = await self._look(view.place, branch)
            if isinstance(other, str) or other.record is None:
                continue
            for pull in untold:
                by = carrying(pull, other.record, other.observation, policy)
                if by is not None:
                    brought[pull.number] = by
        pulls = tuple(replace(p, carried_by=brought.get(p.number)) for p in seen.pulls)
        return replace(view, observation=replace(seen, pulls=pulls))

    async def _with_incidents(
        self, repo: Repository, record: ReleaseRecord | None, seen: ReleaseObservation
    ) -> ReleaseObservation:
        untold = [one for one in record.incidents if one.issue is None] if record is not None else []
        if record is None or not untold:
            return seen
        markers = {incident_marker(record.branch, one) for one in untold}
        since = min(one.at for one in untold) - SINCE_BEFORE
        return replace(seen, incident_issues=await repo.own_issues(markers, since))

    async def _with_evidence(
        self,
        repo: Repository,
        policy: Policy,
        record: ReleaseRecord | None,
        seen: ReleaseObservation,
        *,
        asking: bool,
    ) -> ReleaseObservation:
        """What the merge depends on; read where one is asked for."""
        wanted = asking or (record is not None and record.asked is not None)
        recorded = record.pull if record is not None else None
        pull = next((p for p in seen.open_pulls if p.number == recorded), next(iter(seen.open_pulls), None))
        if not wanted or pull is None:
            return seen
        try:
            evidence = await repo.landing_evidence(pull.number, pull.head_sha, pull.base, seen.into_name)
        except Conflict:
            # The base is another one by now: the next look shows it.
            return seen
        return replace(seen, evidence=evidence)


async def _role(repo: Repository, login: str) -> Role | Unread:
    try:
        return await repo.role_of(login)
    except GitHubError as silence:
        return Unread(f"GitHub did not say what {login} may do: {silence}")


async def _sources(repo: Repository, ids: Iterable[int]) -> Mapping[int, SourceComment | CommentGone | Unread]:
    wanted = list(dict.fromkeys(ids))
    try:
        return {**await repo.source_comments(wanted)}
    except GitHubError as silence:
        return {id: Unread(f"the comment could not be read again: {silence}") for id in wanted}


async def _teams(
    repo: Repository, policy: Policy, people: Mapping[int, Person]
) -> Mapping[tuple[str, int], Membership | Unread]:
    found: dict[tuple[str, int], Membership | Unread] = {}
    for entry in policy.release.authorizers:
        if not entry.startswith("@"):
            continue
        team = entry.removeprefix("@").lower()
        for id, one in people.items():
            try:
                found[team, id] = await repo.membership(team, one.login)
            except GitHubError as silence:
                found[team, id] = Unread(f"GitHub did not say whether {one.login} is in {team}: {silence}")
    return found


async def _pusher(repo: Repository, seen: ReleaseObservation) -> Account | None:
    if seen.trunk is None:
        return None
    try:
        return await repo.last_pusher(seen.branch, seen.trunk.sha)
    except Forbidden:
        return None
