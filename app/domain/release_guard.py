"""What the check-run `Agent Recovery / release` says of one commit: the guard of the base of releases.

Red until exactly this commit is authorized for exactly this PR and base, green only then. It is never neutral, skipped
or missing, because GitHub lets those pass: every head that a PR would bring into the base of releases gets one, and so
does every merge group there. One commit has one verdict, the worst of all PRs that bring it. A run is born red and
turned green by its id alone, so that a create which GitHub carries out late lets nothing pass.

Accepted loss: where no rule requires this check from our App, it is advice, and GitHub lets people merge past it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from app.domain.authorization import Authorized, NotYet
from app.domain.model import instant_text
from app.domain.others_check import trespasses
from app.domain.policy import Policy
from app.domain.pull_class import Ground, PullClass, Refs, class_of
from app.domain.release_external_id import NOT_A_RELEASE, UNBORN, ReleaseWitness
from app.domain.release_observation import GuardRun
from app.domain.untrusted import inline

GUARD_NAME = "Agent Recovery / release"
"""The name of the check-run, which a ruleset requires from our App."""
MOST_WITNESSES = 5
"""In one external id, which GitHub may not take in any length: 255 characters hold these."""
_NAMED = 20
_REASON_BYTES = 600

Conclusion = Literal["success", "failure", "action_required"]


@dataclass(frozen=True)
class GuardPull:
    """An open PR into the base of releases, or the `recorded` PR of a release whatever was done to it: closed, or given
    another base.
    """

    number: int
    refs: Refs
    head_sha: str
    is_open: bool = True
    recorded: bool = False


@dataclass(frozen=True)
class GuardedHead:
    """A commit that PRs bring, with our runs there. `pulls` None: a merge group of which GitHub does not say what is in
    it. In a merge group the PRs' own heads are other commits than this one.
    """

    sha: str
    pulls: tuple[GuardPull, ...] | None
    runs: tuple[GuardRun, ...] = ()


@dataclass(frozen=True)
class GuardVerdict:
    """What a person reads, and whether the commit may pass."""

    conclusion: Conclusion
    title: str
    summary: str


@dataclass(frozen=True)
class GuardAnswer:
    """What is to be written on a head. `create`: no run of ours stands there, so one is made, born red (`BORN`), and
    then told the verdict by its id; `edit`: runs that say something else. All runs of ours on one commit say the same.
    """

    sha: str
    verdict: GuardVerdict
    external_id: str
    create: bool
    edit: tuple[int, ...] = ()


BORN = GuardVerdict(
    "action_required",
    "Not looked at yet",
    "Whether this may go into the base of releases is looked up now. Until then it may not.",
)
"""What every run says when it is made."""


def answer(
    head: GuardedHead,
    ground: Ground,
    policy: Policy,
    judged: Mapping[int, Authorized | NotYet],
    witnesses: Mapping[str, ReleaseWitness],
) -> GuardAnswer | None:
    """What the head is to show; None where all of our runs there show it. `judged`: by the number of the release PR,
    as it stands now; one that is missing there is not authorized. `witnesses`: of the releases' ledgers, by branch.
    """
    verdict = verdict_on(head, ground, policy, judged)
    external_id = _external_id(head, ground, witnesses)
    edit = tuple(sorted(run.id for run in head.runs if not _shows(run, verdict, external_id)))
    if head.runs and not edit:
        return None
    return GuardAnswer(head.sha, verdict, external_id, not head.runs, edit)


def verdict_on(
    head: GuardedHead, ground: Ground, policy: Policy, judged: Mapping[int, Authorized | NotYet]
) -> GuardVerdict:
    """The worst of what there is to say of the PRs that bring this commit."""
    if not head.pulls:
        reason = (
            "GitHub does not say which pull requests this commit brings, so none of them is known to be authorized."
        )
        return GuardVerdict("action_required", "Not known what this brings", reason)
    pulls = sorted(head.pulls, key=lambda p: p.number)
    trespassing = [p for p in pulls if p.is_open and trespasses(p.refs, ground, policy)]
    if trespassing:
        return _trespass(trespassing, ground)
    releases = [p for p in pulls if _is_release(p, ground)]
    twins = _twins(releases, ground)
    if twins:
        return _two(twins)
    red = [(p, why) for p in releases if isinstance(why := _standing(p, ground, judged), NotYet)]
    if red:
        return _unauthorized(red)
    if releases:
        return _authorized(releases, judged)
    return GuardVerdict(
        "success",
        "Not a release",
        f"{_named(pulls)}: no release branch goes into the base of releases with this, so nobody has to authorize it.",
    )


def _is_release(pull: GuardPull, ground: Ground) -> bool:
    return pull.recorded or class_of(pull.refs, ground).kind is PullClass.RELEASE


def _standing(pull: GuardPull, ground: Ground, judged: Mapping[int, Authorized | NotYet]) -> Authorized | NotYet:
    if not pull.is_open:
        return NotYet("the release PR is closed", "wait: the App opens it again")
    if pull.refs.base != ground.into:
        return NotYet("the base of the release PR was changed", "wait: the App gives it back its base")
    found = judged.get(pull.number)
    if found is None:
        return NotYet("it was not looked up yet whether it is authorized", "wait: it is looked up now")
    if isinstance(found, NotYet):
        return found
    if (found.pull, found.sha, found.base) != (pull.number, pull.head_sha, pull.refs.base):
        return NotYet("what is authorized is another commit or another base", "a permitted person authorizes this one")
    return found


def _twins(releases: Sequence[GuardPull], ground: Ground) -> list[GuardPull]:
    standing = [p for p in releases if p.is_open and p.refs.base == ground.into]
    heads = [p.refs.head for p in standing]
    return [p for p in standing if heads.count(p.refs.head) > 1]


def _trespass(pulls: Sequence[GuardPull], ground: Ground) -> GuardVerdict:
    into = inline(ground.into, 250)
    return GuardVerdict(
        "failure",
        "Only releases go into this branch",
        f"The policy says `release.exclusive`, and {_named(pulls)} would bring something else into {into}.\n\n"
        "Change its base to a release branch, or add its head branch to `main_exceptions` in "
        "`.github/agent-recovery.yml`.",
    )


def _two(pulls: Sequence[GuardPull]) -> GuardVerdict:
    return GuardVerdict(
        "action_required",
        "Two release PRs for one release",
        f"{_named(pulls)} bring the same release branch into the base of releases. None of them passes while there are "
        "several.\n\nWhat helps: close all but one of them.",
    )


def _unauthorized(red: Sequence[tuple[GuardPull, NotYet]]) -> GuardVerdict:
    told = [
        f"#{pull.number} of {inline(pull.refs.head, 250)}: {inline(why.reason, _REASON_BYTES)}.\n\n"
        f"What helps: {why.remedy}."
        for pull, why in red
    ]
    return GuardVerdict("action_required", "Not authorized", "\n\n".join(told[:_NAMED]))


def _authorized(releases: Sequence[GuardPull], judged: Mapping[int, Authorized | NotYet]) -> GuardVerdict:
    told = []
    for pull in releases:
        found = judged[pull.number]
        assert isinstance(found, Authorized)  # every other one is red
        by = ", ".join(inline(person.login, 60) for person in found.by)
        told.append(
            f"#{pull.number} of {inline(pull.refs.head, 250)}: {pull.head_sha} may go into "
            f"{inline(pull.refs.base, 250)}, authorized by {by} until {instant_text(found.until)}."
        )
    more = "A new commit, another base, or a word taken back ends that."
    return GuardVerdict("success", "Authorized for this commit", "\n\n".join([*told[:_NAMED], more]))


def _external_id(head: GuardedHead, ground: Ground, witnesses: Mapping[str, ReleaseWitness]) -> str:
    branches = sorted({p.refs.head for p in head.pulls or () if _is_release(p, ground)})
    if not branches:
        return NOT_A_RELEASE
    known = [witnesses[branch] for branch in branches if branch in witnesses]
    # Whoever may push can bring many branches to one commit: those whose ledgers came furthest are kept.
    kept = sorted(known, key=lambda one: -one.sequence)[:MOST_WITNESSES]
    return " ".join(str(one) for one in known if one in kept) or UNBORN


def _shows(run: GuardRun, verdict: GuardVerdict, external_id: str) -> bool:
    shown = (run.status, run.conclusion, run.title, (run.summary or "").strip(), run.external_id)
    return shown == ("completed", verdict.conclusion, verdict.title, verdict.summary.strip(), external_id)


def _named(pulls: Iterable[GuardPull]) -> str:
    numbers = [f"#{p.number}" for p in pulls]
    more = f" and {len(numbers) - _NAMED} more" if len(numbers) > _NAMED else ""
    return ", ".join(numbers[:_NAMED]) + more
