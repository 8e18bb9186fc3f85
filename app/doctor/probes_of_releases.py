"""Probes of what guards a release: a check that a ruleset binds to our App. They need `administration: write`."""

from typing import Any

from app.doctor.asking import Said
from app.doctor.finding import State
from app.doctor.probe import Seen, as_relied_on, probe
from app.doctor.sandbox import Sandbox
from app.domain.observation import Pull


@probe(
    "release-guard",
    "A check that a ruleset binds to our App by its id holds until our check-run succeeds, whatever a status of its "
    "name says, against our own merge too; a name that is taken is refused, a ruleset that is disabled holds nothing",
)
async def release_guard(box: Sandbox) -> Seen:
    name = f"probe release {box.word}"
    base = await box.make_branch("released", await box.commit("released", file="base"))
    pull = await box.make_pull("released-head", base=base)
    if not isinstance(pull, Pull):
        return Seen(State.OTHERWISE, pull.message)
    body = _ruleset(box, name, base)
    made = await box.ask("POST", "/rulesets", body)
    if made.status != 201:
        return Seen(State.NOT_TRIED, f"the App may not make a ruleset: {made.told}")
    number = int(made.body["id"])
    box.rulesets.append(number)
    again = await box.ask("POST", "/rulesets", body)
    if again.status == 201:
        box.rulesets.append(int(again.body["id"]))
    dormant = await _required_on(box, base)
    await box.ask("PUT", "/rulesets/{id}", {**body, "enforcement": "active"}, id=number)
    shown = (await box.ask("GET", "/rulesets/{id}", id=number)).body or {}
    may_bypass, bound = shown.get("current_user_can_bypass"), await _required_on(box, base)
    # A status of the name is what anybody who writes may set; an App needs `statuses: write` for it.
    await box.ask("POST", "/statuses/{sha}", {"state": "success", "context": name}, sha=pull.head_sha)
    run = {"name": name, "head_sha": pull.head_sha, "status": "completed", "conclusion": "action_required"}
    asked = await box.ask("POST", "/check-runs", run)
    by_status = await _merged(box, pull)
    green = {"status": "completed", "conclusion": "success"}
    await box.ask("PATCH", "/check-runs/{id}", green, id=int((asked.body or {}).get("id", 0)))
    by_check = await _merged(box, pull)
    wanted = [{"context": name, "integration_id": box.repo.app_id}]
    fine = (again.status, dormant, bound, may_bypass) == (422, [], wanted, "never")
    told = (
        f"second of the name: {again.told}; disabled: {dormant}; active: {bound}; the App may bypass it: {may_bypass}; "
        f"merged without its success: {by_status.told}; with it: {by_check.told}"
    )
    return as_relied_on(fine and (by_status.status, by_check.status) == (405, 200), told)


def _ruleset(box: Sandbox, check: str, base: str) -> dict[str, Any]:
    required = [{"context": check, "integration_id": box.repo.app_id}]
    parameters = {"required_status_checks": required, "strict_required_status_checks_policy": False}
    return {
        "name": f"probe-release-{box.word}",
        "target": "branch",
        "enforcement": "disabled",
        "conditions": {"ref_name": {"include": [f"refs/heads/{base}"], "exclude": []}},
        "rules": [{"type": "required_status_checks", "parameters": parameters}],
        "bypass_actors": [],
    }


async def _required_on(box: Sandbox, base: str) -> list[dict[str, Any]]:
    """The checks that the branch's rules require, as GitHub lists them."""
    rules = (await box.ask("GET", "/rules/branches/{+branch}", branch=base)).body or ()
    parameters = [rule.get("parameters") or {} for rule in rules]
    return [check for one in parameters for check in one.get("required_status_checks") or ()]


async def _merged(box: Sandbox, pull: Pull) -> Said:
    return await box.ask("PUT", "/pulls/{number}/merge", {"sha": pull.head_sha}, number=pull.number)
