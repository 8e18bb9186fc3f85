"""What guards a branch: the rules of all rulesets, and classic protection as far as the App may read it.

Everybody who may read a repository is told its active rules and the required checks of classic protection; the rest of
classic protection needs the permission to administrate, which the App does without unless it was given.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from app.domain.landing_evidence import BranchRules, Method
from app.domain.model import Message
from app.domain.required_checks import Required
from app.github.access import RELEASE_CHECK_NAME, RepositoryAccess
from app.github.errors import Forbidden, NotFound
from app.github.shapes import read
from app.github.wire import Call

KNOWN_FOR_S = 60.0
"""Thirty tickets that land on one trunk read its rules once. GitHub itself judges by the newest at every merge."""

_RULES = "/repos/{owner}/{repo}/rules/branches/{+branch}"
_BRANCH = "/repos/{owner}/{repo}/branches/{+branch}"
_PROTECTION = "/repos/{owner}/{repo}/branches/{+branch}/protection"

_RULESETS_UNREAD = "the rules of the repository's rulesets"
_CHECKS_UNREAD = "the branch's classic protection"
_REST_UNREAD = "reviews, conversations and up-to-dateness that the branch's classic protection may ask for"


@dataclass(frozen=True)
class _Read:
    """Rules as they were read. `checks_known`: nothing that could require a check was withheld."""

    rules: BranchRules
    checks_known: bool


class GuardedBranches(RepositoryAccess):
    """Reading the rules of branches."""

    def __init__(self, *args: Any, **facts: Any) -> None:
        super().__init__(*args, **facts)
        self._rules_read: dict[str, tuple[float, _Read]] = {}
        self._reading_rules = asyncio.Lock()

    async def branch_rules(self, branch: str) -> BranchRules:
        """What GitHub demands before something is merged into the branch, at most a minute old. `methods` is what the
        rules leave; what the repository's settings leave is not asked for here.

        Two requests; one more where the branch has classic protection. Raises GitHubError where GitHub does not answer;
        what the App may not read is named in `unread`.
        """
        return (await self._rules_of(branch)).rules

    async def release_guard(self, into: str) -> bool | None:
        """Whether the branch's rules require our release check from our App. None where they could not be read."""
        found = await self._rules_of(into)
        if Required(RELEASE_CHECK_NAME, self.app_id) in found.rules.required:
            return True
        return False if found.checks_known else None

    async def classic_checks(self, branch: str) -> tuple[Required, ...] | None:
        """The checks that the branch's classic protection requires. None where they could not be read."""
        rules, missing = await self._with_protection(branch, BranchRules())
        return None if _CHECKS_UNREAD in missing else rules.required

    def forget_branch_rules(self) -> None:
        """Read them anew: GitHub refused something by a rule that was not known."""
        self._rules_read.clear()

    async def _rules_of(self, branch: str) -> _Read:
        async with self._reading_rules:
            now = self.session.wire.clock.monotonic()
            since, known = self._rules_read.get(branch, (0.0, None))
            if known is not None and now < since + KNOWN_FOR_S:
                return known
            found = await self._read_rules(branch)
            self._rules_read[branch] = (now, found)
            return found

    async def _read_rules(self, branch: str) -> _Read:
        unread: list[str] = []
        rules = BranchRules()
        try:
            pages = await self.session.pages(_RULES, self._at(branch=branch))
        except Forbidden as e:
            # A plan without rulesets has none that could hold.
            if "upgrade" not in e.message.lower():
                unread.append(_RULESETS_UNREAD)
        else:
            call = Call("GET", _RULES)
            rules = _together(rule for page in pages for rule in read(list[_Rule], page.body, call))
        rules, missing = await self._with_protection(branch, rules)
        unread += missing
        checks_known = not {_RULESETS_UNREAD, _CHECKS_UNREAD} & set(unread)
        return _Read(replace(rules, unread=" and ".join(unread) or None), checks_known)

    async def _with_protection(self, branch: str, rules: BranchRules) -> tuple[BranchRules, list[str]]:
        """The rules with classic protection added, and what of it was withheld."""
        try:
            answer = await self.session.get(_BRANCH, self._at(branch=branch))
        except NotFound:
            return rules, []
        except Forbidden:
            return rules, [_CHECKS_UNREAD]
        short = read(_Branch, answer.body, Call("GET", _BRANCH)).protection
        if short is None or not short.enabled:
            return rules, []
        try:
            answer = await self.session.get(_PROTECTION, self._at(branch=branch))
        except NotFound:
            return rules, []
        except Forbidden:
            return _protected(rules, _Protection(required_status_checks=short.required_status_checks)), [_REST_UNREAD]
        return _protected(rules, read(_Protection, answer.body, Call("GET", _PROTECTION))), []


class _Rule(Message):
    type: str
    parameters: dict[str, Any] | None = None


class _RequiredByRule(Message):
    context: str
    integration_id: int | None = None


class _ChecksRule(Message):
    required_status_checks: tuple[_RequiredByRule, ...] = ()
    strict_required_status_checks_policy: bool = False


class _PullRule(Message):
    required_approving_review_count: int = 0
    required_review_thread_resolution: bool = False
    allowed_merge_methods: tuple[Literal["merge", "squash", "rebase"], ...] | None = None


class _RequiredClassic(Message):
    context: str
    app_id: int | None = None


class _ClassicChecks(Message):
    strict: bool = False
    contexts: tuple[str, ...] = ()
    checks: tuple[_RequiredClassic, ...] = ()

    def required(self) -> tuple[Required, ...]:
        named = tuple(Required(one.context, _app(one.app_id)) for one in self.checks)
        return named or tuple(Required(name) for name in self.contexts)


class _ClassicReviews(Message):
    required_approving_review_count: int = 0


class _Switch(Message):
    enabled: bool = False


class _Protection(Message):
    required_status_checks: _ClassicChecks | None = None
    required_pull_request_reviews: _ClassicReviews | None = None
    required_conversation_resolution: _Switch = _Switch()
    required_linear_history: _Switch = _Switch()


class _ShortProtection(Message):
    enabled: bool = False
    required_status_checks: _ClassicChecks | None = None


class _Branch(Message):
    protection: _ShortProtection | None = None


def _together(found: Iterable[_Rule]) -> BranchRules:
    """The rules of all rulesets as one: every one of them has to be met."""
    rules = BranchRules()
    for rule in found:
        rules = _added(rules, rule.type, rule.parameters or {})
    return rules


def _added(rules: BranchRules, kind: str, parameters: dict[str, Any]) -> BranchRules:
    if kind == "required_status_checks":
        checks = read(_ChecksRule, parameters, Call("GET", _RULES))
        named = tuple(Required(one.context, _app(one.integration_id)) for one in checks.required_status_checks)
        # GitHub: the setting has no effect unless at least one check is required.
        strict = rules.strict or (checks.strict_required_status_checks_policy and bool(named))
        return replace(rules, required=_distinct(rules.required, named), strict=strict)
    if kind == "pull_request":
        pulls = read(_PullRule, parameters, Call("GET", _RULES))
        methods: frozenset[Method] = rules.methods
        if pulls.allowed_merge_methods is not None:
            methods &= frozenset(pulls.allowed_merge_methods)
        return replace(
            rules,
            approvals=max(rules.approvals, pulls.required_approving_review_count),
            conversations=rules.conversations or pulls.required_review_thread_resolution,
            methods=methods,
        )
    if kind == "required_linear_history":
        return replace(rules, methods=rules.methods - {"merge"})
    return replace(rules, queue=True) if kind == "merge_queue" else rules


def _protected(rules: BranchRules, protection: _Protection) -> BranchRules:
    checks = protection.required_status_checks or _ClassicChecks()
    reviews = protection.required_pull_request_reviews or _ClassicReviews()
    linear = protection.required_linear_history.enabled
    return replace(
        rules,
        required=_distinct(rules.required, checks.required()),
        strict=rules.strict or (checks.strict and bool(checks.required())),
        approvals=max(rules.approvals, reviews.required_approving_review_count),
        conversations=rules.conversations or protection.required_conversation_resolution.enabled,
        methods=rules.methods - {"merge"} if linear else rules.methods,
    )


def _app(number: int | None) -> int | None:
    """The App that has to report; classic protection writes "any" as -1."""
    return number if number is not None and number > 0 else None


def _distinct(*lists: tuple[Required, ...]) -> tuple[Required, ...]:
    return tuple(dict.fromkeys(one for found in lists for one in found))
