"""What each mode would do in a repository: the real looks and the real decisions, and no write.

Reads are bounded: the lists by pages of a hundred, the looks by number; what was left out is said. One look serves all
modes, because a mode changes what is decided and not what there is. Whoever calls this sees to it that writes are
refused, so that even a fault here cannot write.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.controller.authors import Authors
from app.controller.enrolling import Enrolling
from app.controller.policy_checks import PolicyShowing
from app.controller.view import Gone, View, Views
from app.domain import gates
from app.domain.branches import owner_of_branch
from app.domain.decide import decide
from app.domain.enrolment import NotEnrolled, enrolment
from app.domain.fencing import is_passive
from app.domain.intended import Intended, RepositoryPlan, Step, steps_of
from app.domain.issue_gate import open_issue
from app.domain.landing_tail import tail
from app.domain.life_cycle import Ending, ending
from app.domain.observation import Branch, Observation
from app.domain.others_check import Answer, OpenPull, answers, is_nobodys
from app.domain.outcome import Blocked
from app.domain.policy import PATH, Mode, Policy
from app.domain.policy_check import NAME, Verdict
from app.domain.policy_in_force import InForce
from app.domain.pull_class import Ground, class_of
from app.domain.pull_evidence import Found, Rebuilt, Uncertain
from app.domain.situation import Situation
from app.domain.ticket_id import Child, TicketId, by_number, number_of
from app.domain.trunks import is_trunk
from app.github.discovery import Discovered, LabelledIssue, Page
from app.github.repository import Repository
from app.ledger.reading import Standing

MOST_PAGES = 20
MOST_LOOKED_AT = 200
"""Tickets looked at, each at the cost of a few requests."""

Progress = Callable[[int, int, str], None]
"""Told how many of how many were looked at, and what comes next."""

_OBSERVES = "observe writes nothing"


@dataclass(frozen=True)
class _Lists:
    first: Discovered
    in_force: InForce
    policy: Policy
    issues: tuple[LabelledIssue, ...]
    pulls: tuple[OpenPull, ...]
    branches: tuple[Branch, ...]
    active: tuple[TicketId, ...]
    unread: tuple[str, ...]

    @property
    def ground(self) -> Ground:
        default = self.first.default_branch
        return Ground(default, self.policy.release.into or default, self.policy.trunks)


class Planning:
    """Plans for whole repositories. `resumes`: the operator's switch for incidents; `has_command`: the operator has a
    command that starts agents.
    """

    def __init__(self, views: Views, enrolling: Enrolling, *, resumes: bool, has_command: bool) -> None:
        self._views = views
        self._enrolling = enrolling
        self._resumes = resumes
        self._has_command = has_command
        self._authors = Authors()
        self._policy = PolicyShowing(views)

    async def plan(
        self,
        owner: str,
        name: str,
        modes: Collection[Mode],
        progress: Progress,
        *,
        tried: Policy | None = None,
        most: int = MOST_LOOKED_AT,
    ) -> RepositoryPlan:
        """What each of these modes would do, under the policy in force, or as if `tried` were the repository's. Raises
        Gone where the App is not installed, GitHubError where GitHub does not answer.
        """
        repo, _ = await self._views.ledger(owner, name)
        lists = await self._lists(repo, tried, progress)
        # Everything is read that the furthest of the modes may want.
        self._views.assume(repo, _with_mode(lists.policy, Mode.FULL))
        tickets = _tickets(lists)
        planned: dict[Mode, list[Intended]] = {mode: [] for mode in modes}
        for at, ticket in enumerate(tickets[:most]):
            progress(at, min(len(tickets), most), f"#{ticket}")
            for mode, intended in (await self._ticket(repo, lists, ticket, modes)).items():
                planned[mode].append(intended)
        unread = [*lists.unread]
        if len(tickets) > most:
            unread.append(f"{len(tickets) - most} tickets were not looked at; --most N looks at more")
        shown = await self._policy_verdicts(repo, lists)
        for mode, intentions in planned.items():
            intentions += _pulls(lists, tickets, mode)
            intentions += _policy_shown(shown if mode is not Mode.OBSERVE else ())
            intentions += _branches(lists, tickets)
        return RepositoryPlan(
            repository=repo.full_name,
            mode_now=lists.in_force.policy.mode if lists.in_force.policy is not None else None,
            policy="a file that is being tried" if tried is not None else _source(lists.in_force),
            problems=tuple(f"line {p.line}: {p.message} ({p.remedy})" for p in lists.in_force.problems),
            clamps=lists.in_force.clamps,
            found={
                "open pull requests": len(lists.pulls),
                "branches": len(lists.branches),
                "labelled Issues": len(lists.issues),
                "ledgers in progress": len(lists.active),
            },
            unread=tuple(unread),
            modes=planned,
        )

    async def _policy_verdicts(self, repo: Repository, lists: _Lists) -> Sequence[Verdict]:
        if lists.in_force.policy is None:
            return ()
        return await self._policy.verdicts(repo, await repo.policy_state(PATH), lists.in_force)

    async def _lists(self, repo: Repository, tried: Policy | None, progress: Progress) -> _Lists:
        progress(0, 0, "the repository")
        first = await repo.discover(None, Page(more=False), Page(), Page(), PATH)
        in_force = await self._views.policy_of(repo, _shown(repo, first))
        policy = tried or in_force.policy or Policy()
        label = policy.enroll.label
        issues: list[LabelledIssue] = []
        pulls, branches = [p.pull for p in first.pulls], list(first.branches)
        rest = (Page(more=label is not None), first.next_pull, first.next_branch)
        for number in range(MOST_PAGES - 1):
            if not any(page.more for page in rest):
                break
            progress(number + 1, 0, "the repository")
            page = await repo.discover(label, *rest, PATH)
            issues += page.issues
            pulls += [p.pull for p in page.pulls]
            branches += page.branches
            rest = (page.next_issue, page.next_pull, page.next_branch)
        names = ("labelled Issues", "open pull requests", "branches")
        unread = [
            f"there are more {name} than the first {MOST_PAGES * 100}"
            for name, page in zip(names, rest, strict=True)
            if page.more
        ]
        active = await self._views.active_tickets(repo.owner, repo.name)
        return _Lists(
            first, in_force, policy, tuple(issues), tuple(pulls), tuple(branches), tuple(active), tuple(unread)
        )

    async def _ticket(
        self, repo: Repository, lists: _Lists, ticket: TicketId, modes: Collection[Mode]
    ) -> dict[Mode, Intended]:
        thing = f"ticket #{ticket}"
        furthest = _with_mode(lists.policy, Mode.FULL)
        try:
            view = await self._views.look(repo.owner, repo.name, ticket)
        except Gone:
            return {mode: Intended(thing, reason="there is no such Issue") for mode in modes}
        found = await self._enrolling.find(view, furthest) if _is_enrolled_only(view, furthest) else None
        return {mode: self._one(view, _with_mode(lists.policy, mode), found, thing) for mode in modes}

    def _one(self, view: View, policy: Policy, found: Found | None, thing: str) -> Intended:
        claim = _claim(view, policy, self._resumes)
        if policy.mode is Mode.OBSERVE:
            return Intended(thing, (), _OBSERVES, claim)
        steps, reason = self._decided(view, policy, found)
        return Intended(thing, steps, reason, claim)

    def _decided(self, view: View, policy: Policy, found: Found | None) -> tuple[tuple[Step, ...], str]:
        """As a round decides it (`round.py`), without what a round writes."""
        if view.frozen is not None and not view.frozen.is_ours:
            return (), f"not a ticket: {view.frozen.reason}"
        if view.frozen is not None:
            return (Step("Report", {}, view.frozen.reason),), "frozen: a person has to look"
        standing, head = view.standing, view.head
        if found is not None:
            return _enrolled(found)
        if standing is None or head is None:
            allowed = enrolment(view.observation, policy)
            return (), f"not a ticket: {allowed.reason}" if isinstance(allowed, NotEnrolled) else "nothing to do"
        if standing.place == "done":
            return (), f"the ticket is {standing.record.status}"
        situation = self._situation(view, standing, policy)
        steps = tail(situation)
        over = steps if isinstance(steps, Ending) else ending(standing.record, view.observation) if not steps else None
        if over is not None:
            return (Step("End", {"status": over.status}, over.reason),), ""
        return steps_of(decide(situation))

    def _situation(self, view: View, standing: Standing, policy: Policy) -> Situation:
        assert view.head is not None
        return Situation(
            observation=view.observation,
            record=standing.record,
            policy=policy,
            head=view.head,
            tail=standing.tail,
            author_is_dead=self._authors.is_dead,
            heartbeat_at=view.heartbeat_at,
            run=view.run,
            run_ended=view.run_ended,
            children=view.family.seen,
            landing=view.landing.landing,
            after_merge=view.landing.after_merge,
            update=view.landing.update,
            trunks=view.trunks,
            resumes=self._resumes,
            has_command=self._has_command,
        )


def _is_enrolled_only(view: View, policy: Policy) -> bool:
    """Whether nobody ever claimed the ticket, so that what is done follows from what speaks for its branch."""
    if view.frozen is not None or isinstance(view.ticket, Child):
        return False
    if isinstance(enrolment(view.observation, policy), NotEnrolled):
        return False
    if view.standing is None:
        return True
    record = view.standing.record
    if view.standing.place != "active" or not is_passive(record):
        return False
    return record.work is None or (
        view.observation.branch(record.work.branch) is None and record.projections.pr_number is None
    )


def _enrolled(found: Found) -> tuple[tuple[Step, ...], str]:
    if isinstance(found, Rebuilt):
        because = "; ".join(map(str, found.because))
        born = Step("BeginLedger", {"branch": found.branch, "trunk": found.trunk}, because)
        if found.pull is not None:
            return (born,), f"its PR is #{found.pull}"
        opened = Step("CreatePull", {"head": found.branch, "base": found.base}, "the branch has work and no PR")
        return (born, opened), ""
    if isinstance(found, Uncertain):
        return (Step("AskAboutPull", {}, found.reason),), f"no PR is opened: {found.reason}"
    return (), getattr(found, "reason", "nothing to do")


def _claim(view: View, policy: Policy, resumes: bool) -> str:
    record = view.record if view.frozen is None else None
    issue = open_issue(view.observation, view.ticket)
    if view.frozen is not None:
        return "refused: frozen"
    if isinstance(issue, Blocked):
        return f"refused: {issue.code} ({issue.reason})"
    passed = gates.if_claimed_now(
        record, policy, now=view.now, heartbeat_at=view.heartbeat_at, run_ended=view.run_ended, resumes=resumes
    )
    return f"refused: {passed.code} ({passed.reason})" if isinstance(passed, Blocked) else f"granted: {passed.reason}"


def _tickets(lists: _Lists) -> list[TicketId]:
    found: set[TicketId] = {*lists.active, *(issue.number for issue in lists.issues)}
    if lists.policy.enroll.branch:
        found |= {t for t in (owner_of_branch(b.name) for b in lists.branches) if isinstance(t, int)}
    return sorted(found, key=by_number)


def _pulls(lists: _Lists, tickets: Sequence[TicketId], mode: Mode) -> Iterator[Intended]:
    numbers = {number_of(t) for t in tickets}
    nobodys = [p for p in lists.pulls if is_nobodys(p.refs, numbers)]
    wanted: dict[str, Answer] = {}
    if mode is not Mode.OBSERVE:
        wanted = {a.head_sha: a for a in answers(nobodys, lists.ground, lists.policy)}
    for pull in lists.pulls:
        thing, classed = f"pull #{pull.number}", class_of(pull.refs, lists.ground)
        if pull not in nobodys:
            yield Intended(thing, (), f"{classed.kind}: it belongs to ticket #{classed.ticket}")
            continue
        answer = wanted.get(pull.head_sha)
        if mode is Mode.OBSERVE:
            yield Intended(thing, (), f"{classed.kind}: {_OBSERVES}")
        elif answer is None:
            yield Intended(thing, (), f"{classed.kind}: {classed.reason}; its check says so already")
        else:
            name = "CreateCheckRun" if answer.run is None else "UpdateCheckRun"
            step = Step(name, {"conclusion": answer.conclusion, "title": answer.title}, classed.reason)
            yield Intended(thing, (step,), f"{classed.kind}: nothing else of it is touched")


def _policy_shown(verdicts: Iterable[Verdict]) -> Iterator[Intended]:
    for verdict in verdicts:
        name = "CreateCheckRun" if verdict.run is None else "UpdateCheckRun"
        details = {"name": NAME, "conclusion": verdict.conclusion, "title": verdict.title}
        yield Intended(f"policy at {verdict.sha[:12]}", (Step(name, details, "the policy file is shown"),))


def _branches(lists: _Lists, tickets: Collection[TicketId]) -> Iterator[Intended]:
    ground = lists.ground
    for branch in lists.branches:
        owner = owner_of_branch(branch.name)
        thing = f"branch {branch.name}"
        if branch.name == ground.default_branch:
            yield Intended(thing, (), "left alone: the default branch")
        elif is_trunk(branch.name, ground.trunks, ground.default_branch):
            yield Intended(thing, (), "left alone: tickets land on it")
        elif owner is None:
            yield Intended(thing, (), "left alone: no ticket's branch")
        elif owner in tickets:
            yield Intended(thing, (), f"see ticket #{owner}")
        elif isinstance(owner, Child):
            yield Intended(thing, (), f"left alone: no holder of #{owner.parent} spawned {owner.name}")
        else:
            why = "nobody has claimed it, and the policy does not enroll it (enroll.branch: true would)"
            yield Intended(thing, (), f"left alone: #{owner} is no ticket: {why}")


def _with_mode(policy: Policy, mode: Mode) -> Policy:
    return policy.model_copy(update={"mode": mode})


def _source(in_force: InForce) -> str:
    if in_force.note is not None:
        return in_force.note
    if in_force.reading.policy is not None:
        return f"the file {PATH} on the default branch"
    if in_force.problems:
        return f"defaults, because {PATH} cannot be used and none before it was valid"
    return f"defaults, because there is no {PATH} on the default branch; without it nothing is written"


def _shown(repo: Repository, seen: Discovered) -> Observation:
    return Observation(
        now=seen.now,
        repository_id=repo.id,
        owner=repo.owner,
        name=repo.name,
        default_branch=seen.default_branch,
        default_head=seen.default_head,
        policy_text=seen.policy_text,
        issue=None,
    )
