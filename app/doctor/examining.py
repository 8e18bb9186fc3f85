"""A look at one repository as the operator needs it: is the release check enforced, and is the App able to give it?

Reads only: at most a few dozen requests, whatever the repository holds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.controller.policies import Policies
from app.controller.view import Gone
from app.doctor.health import Health, Told
from app.doctor.needs import at_least, told_of_events, told_of_permissions
from app.domain.observation import Observation
from app.domain.outcome import Blocked
from app.domain.patterns import matches
from app.domain.policy import PATH, Mode, Policy
from app.domain.policy_in_force import InForce
from app.domain.release_ruleset import BaseSeen, Judged, Worth, judge
from app.domain.removal import NAMESPACES
from app.domain.required_checks import Required
from app.github.access import RELEASE_CHECK_NAME
from app.github.client import Installed
from app.github.errors import Moved, NotFound
from app.github.repository import Repository
from app.service.running import Parts

_HEALTH = {Worth.ENFORCED: Health.FINE, Worth.ADVISORY: Health.ADVISORY, Worth.UNKNOWN: Health.UNKNOWN}


@dataclass(frozen=True)
class Examined:
    """One repository. `base`: the base of releases and what guards it; `guard`: what the release check is worth there.
    `silent`: why the App gives that check to nobody, None where it gives it.
    """

    repo: Repository
    installed: Installed
    policy: Policy | None
    base: BaseSeen
    guard: Judged
    silent: str | None
    told: tuple[Told, ...]

    @property
    def wanted(self) -> Required:
        return wanted_of(self.repo)

    @property
    def may_write_rulesets(self) -> bool:
        return at_least(self.installed.permissions, "administration", "write")


def wanted_of(repo: Repository) -> Required:
    """The release check, from our App and nobody else."""
    return Required(RELEASE_CHECK_NAME, repo.app_id)


def fix_command(repo: Repository) -> str:
    """The command that mends the guard, as a person types it."""
    return f"`agent-recovery doctor --repo {repo.full_name} --fix`"


async def examine(parts: Parts, owner: str, name: str, *, fix: bool = False) -> Examined:
    """Look at the repository. `fix`: what a fix needs counts as needed. Raises Gone, GitHubError."""
    try:
        repo = await parts.github.repository(owner, name)
        installed = await parts.github.installed_on(owner, name)
    except (NotFound, Moved) as missing:
        raise Gone(missing.message, status=missing.status, route=missing.route) from missing
    in_force = await _in_force(parts, repo)
    policy = in_force.policy
    into = (policy.release.into if policy is not None else None) or repo.default_branch
    base = await repo.guard_of_base(into)
    guard = judge(base, wanted_of(repo), fix_command(repo))
    blocked = await parts.stops.blocked(repo.full_name, repo.id)
    silent = _silent(policy, blocked)
    queue = base.exists and not base.plan_without and (await repo.branch_rules(into)).queue
    told = [
        _told_of_installation(installed),
        told_of_permissions(installed.permissions, policy, fix),
        told_of_events(installed.events, policy, queue),
        _told_of_policy(in_force, repo),
        Told("release-guard", *_told_of_guard(guard)),
        *(Told("release-guard", Health.ADVISORY, note) for note in guard.notes),
        _told_of_giving(guard, silent, into),
        *_told_of_trunks(policy, into),
        await _told_of_ledgers(repo, policy),
    ]
    return Examined(repo, installed, policy, base, guard, silent, tuple(told))


async def _in_force(parts: Parts, repo: Repository) -> InForce:
    shown = (await repo.overview()).policy
    seen = Observation(
        now=parts.github.clock.now(),
        repository_id=repo.id,
        owner=repo.owner,
        name=repo.name,
        default_branch=repo.default_branch,
        policy_text=shown.text if shown is not None else None,
        issue=None,
        default_head=await repo.commit_of_branch(repo.default_branch),
    )
    return await Policies().in_force(repo, seen)


def _silent(policy: Policy | None, blocked: Blocked | None) -> str | None:
    if blocked is not None:
        return blocked.reason
    if policy is None:
        return f"the repository has no usable policy ({PATH})"
    return "the policy says `mode: observe`" if policy.mode is Mode.OBSERVE else None


def _told_of_installation(installed: Installed) -> Told:
    if installed.suspended:
        return Told("installation", Health.MEND, "the installation is suspended", "an owner unsuspends it on GitHub")
    return Told("installation", Health.FINE, f"the App is installed on {installed.account}")


def _told_of_policy(in_force: InForce, repo: Repository) -> Told:
    if in_force.reading.policy is not None and not in_force.problems:
        mode = in_force.reading.policy.mode
        return Told("policy", Health.FINE, f"{PATH} says mode {mode}")
    if in_force.problems:
        first = in_force.problems[0]
        words = f"{PATH}, line {first.line}: {first.message}"
        return Told("policy", Health.MEND, words, first.remedy)
    remedy = f"`agent-recovery init --repo {repo.full_name}` proposes one"
    return Told("policy", Health.MEND, f"there is no {PATH}", remedy)


def _told_of_guard(guard: Judged) -> tuple[Health, str, str | None]:
    return _HEALTH[guard.worth], guard.reason, guard.remedy


def _told_of_giving(guard: Judged, silent: str | None, into: str) -> Told:
    if silent is None:
        return Told("guard-given", Health.FINE, f"the App gives `{RELEASE_CHECK_NAME}` to pull requests into {into}")
    if guard.worth is Worth.ENFORCED:
        words = f"nothing can be merged into {into}: its rules require the check, and {silent}"
        return Told("guard-given", Health.MEND, words, "let the App write here, or take the requirement back")
    return Told("guard-given", Health.ADVISORY, f"nobody gets the check: {silent}")


def _told_of_trunks(policy: Policy | None, into: str) -> Sequence[Told]:
    if policy is None or not any(matches(pattern, into) for pattern in policy.trunks):
        return ()
    words = f"{into} is the base of releases and matches a pattern of `trunks`: tickets would land on it"
    return (Told("trunks", Health.MEND, words, "choose patterns of `trunks` that leave it out"),)


async def _told_of_ledgers(repo: Repository, policy: Policy | None) -> Told:
    """Ledgers in a place where the policy does not look would be begun anew."""
    named = (policy or Policy()).ledger.namespace
    counted = {place: len(await repo.matching_refs(f"{place}/active/")) for place in NAMESPACES}
    strays = [f"{count} below {place}" for place, count in counted.items() if place != named and count]
    if strays:
        words = f"the policy keeps ledgers below {named}, and there are {' and '.join(strays)}"
        return Told("ledgers", Health.MEND, words, "set `ledger.namespace` back, or end those tickets first")
    return Told("ledgers", Health.FINE, f"{counted[named]} tickets in progress below {named}")
