"""Rulesets that require the release check: reading all that matter on a branch, and writing our own."""

from collections.abc import Mapping
from typing import Any

from app.domain.model import Message
from app.domain.release_ruleset import NAME, BaseSeen, RulesetSeen
from app.domain.required_checks import Required
from app.github.access import RELEASE_CHECK_NAME
from app.github.branch_rules import GuardedBranches
from app.github.errors import Forbidden, NotFound, Validation
from app.github.shapes import ObjectWithId, read
from app.github.wire import Call

MOST_RULESETS = 75
"""GitHub's own limit for a repository."""

_HOLDING = "/repos/{owner}/{repo}/rules/branches/{+branch}"
_RULESETS = "/repos/{owner}/{repo}/rulesets"
_RULESET = "/repos/{owner}/{repo}/rulesets/{id}"
_PROTECTION = "/repos/{owner}/{repo}/branches/{+branch}/protection"
_CHECKS = "required_status_checks"
_ROLES = {1: "who may read", 2: "maintainers", 3: "who may triage", 4: "who may write", 5: "administrators"}


class ReleaseRulesets(GuardedBranches):
    """All raise GitHubError."""

    async def guard_of_base(self, branch: str) -> BaseSeen:
        """What stands on the branch for or against the release check. A handful of requests, and one more for each
        ruleset of the repository.
        """
        exists = await self._branch_exists(branch)
        unread: list[str] = []
        try:
            pages = await self.session.pages(_HOLDING, self._at(branch=branch))
        except Forbidden as refusal:
            if "upgrade" in refusal.message.lower():
                return BaseSeen(branch, exists=exists, is_default=branch == self.default_branch, plan_without=True)
            pages = []
            unread.append("the rules of the repository's rulesets")
        call = Call("GET", _HOLDING)
        holding = [rule for page in pages for rule in read(list[_Rule], page.body, call)]
        protection = await self.classic_checks(branch)
        if protection is None:
            unread.append("the branch's classic protection")
        return BaseSeen(
            branch,
            exists=exists,
            is_default=branch == self.default_branch,
            rulesets=await self._guards_on(holding),
            classic=protection or (),
            admins_pass=await self._admins_pass(branch) if protection else None,
            unread=tuple(unread),
        )

    async def create_ruleset(self, body: Mapping[str, Any]) -> int | None:
        """A new ruleset; its id, or None where one of this name stands already. Needs `administration: write`.

        Done but not heard: looked for by its name before it is tried again. Two of us: GitHub takes a name once. Lease
        gone: none is involved; a person asked for it.
        """
        try:
            answer = await self.session.write("POST", _RULESETS, self._at(), dict(body))
        except Validation as refusal:
            if any("unique" in sentence.lower() for sentence in refusal.sentences):
                return None
            raise
        self.forget_branch_rules()
        return read(ObjectWithId, answer.body, Call("POST", _RULESETS, writes=True)).id

    async def change_ruleset(self, id: int, body: Mapping[str, Any]) -> None:
        """Give a ruleset these values. Needs `administration: write`.

        Done but not heard, or two of us: values are set, and looked at before they are set again. Lease gone: none is
        involved; a person asked for it.
        """
        await self.session.write("PUT", _RULESET, self._at(id=id), dict(body))
        self.forget_branch_rules()

    async def _branch_exists(self, branch: str) -> bool:
        try:
            await self.session.get("/repos/{owner}/{repo}/branches/{+branch}", self._at(branch=branch))
        except NotFound:
            return False
        return True

    async def _admins_pass(self, branch: str) -> bool | None:
        try:
            answer = await self.session.get(_PROTECTION, self._at(branch=branch))
        except (Forbidden, NotFound):
            return None
        shape = read(_Protection, answer.body, Call("GET", _PROTECTION))
        return not shape.enforce_admins.enabled if shape.enforce_admins is not None else None

    async def _guards_on(self, holding: list["_Rule"]) -> tuple[RulesetSeen, ...]:
        """Those that require the check or are ours, whether they hold or not."""
        held: dict[int, list[Required]] = {}
        sources: dict[int, str] = {}
        for rule in holding:
            held.setdefault(rule.ruleset_id, []).extend(_required(rule))
            sources[rule.ruleset_id] = rule.ruleset_source
        listed = await self._guards_listed()
        found = []
        for id in dict.fromkeys([*held, *listed]):
            whole = await self._guard_whole(id)
            if whole is None:
                required = tuple(held.get(id, ()))
                name = listed.get(id, f"number {id}")
                seen = RulesetSeen(id, name, sources.get(id, ""), False, "active", id in held, required, None)
            else:
                seen = self._guard_seen(whole, id in held)
            if seen.is_ours or any(one.name == RELEASE_CHECK_NAME for one in seen.required):
                found.append(seen)
        return tuple(found)

    async def _guards_listed(self) -> dict[int, str]:
        try:
            pages = await self.session.pages(_RULESETS, self._at(), {"includes_parents": "true", "targets": "branch"})
        except (Forbidden, NotFound):
            return {}
        shapes = [one for page in pages for one in read(list[_Ruleset], page.body, Call("GET", _RULESETS))]
        # Ours first, so that it is among them however many there are.
        shapes.sort(key=lambda one: one.name != NAME)
        return {one.id: one.name for one in shapes[:MOST_RULESETS]}

    async def _guard_whole(self, id: int) -> "_Ruleset | None":
        try:
            answer = await self.session.get(_RULESET, self._at(id=id), {"includes_parents": "true"})
        except (Forbidden, NotFound):
            return None
        return read(_Ruleset, answer.body, Call("GET", _RULESET))

    def _guard_seen(self, whole: "_Ruleset", holds: bool) -> RulesetSeen:
        return RulesetSeen(
            id=whole.id,
            name=whole.name,
            source=whole.source,
            own=whole.source.lower() == self.full_name.lower(),
            enforcement=whole.enforcement,
            holds=holds,
            required=tuple(one for rule in whole.rules for one in _required(_Rule.model_validate(rule))),
            app_bypasses=self._app_bypasses(whole),
            bypassers=self._others_bypassing(whole),
            includes=whole.conditions.ref_name.include if whole.conditions else (),
            excludes=whole.conditions.ref_name.exclude if whole.conditions else (),
            rules=whole.rules,
            bypass_actors=whole.bypass_actors,
        )

    def _app_bypasses(self, whole: "_Ruleset") -> bool | None:
        if whole.bypass_actors is not None:
            return any(self._is_us(one) for one in whole.bypass_actors)
        if whole.current_user_can_bypass is None:
            return None
        return whole.current_user_can_bypass != "never"

    def _others_bypassing(self, whole: "_Ruleset") -> tuple[str, ...] | None:
        if whole.bypass_actors is None:
            return None
        return tuple(_who(one) for one in whole.bypass_actors if not self._is_us(one))

    def _is_us(self, actor: Mapping[str, Any]) -> bool:
        return actor.get("actor_type") == "Integration" and actor.get("actor_id") == self.app_id


def _required(rule: "_Rule") -> tuple[Required, ...]:
    if rule.type != _CHECKS:
        return ()
    listed = (rule.parameters or {}).get(_CHECKS) or ()
    return tuple(Required(str(one.get("context")), one.get("integration_id")) for one in listed)


def _who(actor: Mapping[str, Any]) -> str:
    kind, number = actor.get("actor_type"), actor.get("actor_id")
    if kind == "RepositoryRole":
        return _ROLES.get(number or 0, f"the role {number}")
    if kind == "OrganizationAdmin":
        return "owners of the organization"
    names = {"Integration": "the App", "Team": "the team", "User": "the account", "DeployKey": "deploy keys"}
    word = names.get(str(kind), str(kind))
    return f"{word} {number}" if number is not None else word


class _Rule(Message):
    type: str
    parameters: dict[str, Any] | None = None
    ruleset_id: int = 0
    ruleset_source: str = ""


class _RefNames(Message):
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class _Conditions(Message):
    ref_name: _RefNames = _RefNames()


class _Ruleset(Message):
    id: int
    name: str = ""
    source: str = ""
    enforcement: str = "active"
    conditions: _Conditions | None = None
    rules: tuple[dict[str, Any], ...] = ()
    bypass_actors: tuple[dict[str, Any], ...] | None = None
    current_user_can_bypass: str | None = None


class _Switch(Message):
    enabled: bool = False


class _Protection(Message):
    enforce_admins: _Switch | None = None
