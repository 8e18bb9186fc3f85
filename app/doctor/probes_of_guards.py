"""Probes of guarded branches and workflow files. They need permissions the product does not ask for.

Who wants them tried gives the App `administration: write` and `workflows: write` on the sandbox for a while; without
them nothing is tried and nothing is made.
"""

from datetime import UTC, datetime

from app.doctor.asking import said
from app.doctor.finding import State
from app.doctor.probe import Seen, as_relied_on, probe
from app.doctor.sandbox import Sandbox
from app.domain.model import ZERO_SHA
from app.domain.observation import Pull
from app.github.errors import RefsUndecided
from app.github.refs import RefUpdate

REQUIRED_CHECK = "probe-never-reported"
WORKFLOW = "on: workflow_dispatch\njobs: {probe: {runs-on: ubuntu-latest, steps: [{run: 'true'}]}}\n"


@probe(
    "guarded-base", "A required check holds against merges (405), `POST /merges` (409), refs by REST (422), updateRefs"
)
async def guarded_base(box: Sandbox) -> Seen:
    base = await box.make_branch("guarded", await box.commit("guarded", file="base"))
    pull = await box.make_pull("guarded-head", base=base)
    if not isinstance(pull, Pull):
        return Seen(State.OTHERWISE, pull.message)
    required = {"required_status_checks": [{"context": REQUIRED_CHECK}], "strict_required_status_checks_policy": True}
    rules = [
        {"type": "required_status_checks", "parameters": required},
        {"type": "non_fast_forward"},
    ]
    made = await box.ask(
        "POST",
        "/rulesets",
        {
            "name": f"probe-{box.word}",
            "target": "branch",
            "enforcement": "active",
            "conditions": {"ref_name": {"include": [f"refs/heads/{base}"], "exclude": []}},
            "rules": rules,
        },
    )
    if made.status != 201:
        return Seen(State.NOT_TRIED, f"the App may not make a ruleset: {made.told}")
    box.rulesets.append(int(made.body["id"]))
    await box.ask("GET", "/pulls/{number}", number=pull.number)
    by_pull = await box.ask("PUT", "/pulls/{number}/merge", {"sha": pull.head_sha}, number=pull.number)
    by_merges = await box.ask("POST", "/merges", {"base": base, "head": pull.head})
    by_ref = await box.ask("PATCH", "/git/refs/heads/{+branch}", {"sha": pull.head_sha}, branch=base)
    old = await box.repo.commit_of_branch(base) or ZERO_SHA
    try:
        await box.repo.update_refs([RefUpdate(f"refs/heads/{base}", old, pull.head_sha)])
        together = ""
    except RefsUndecided as refusal:
        together = refusal.message
    statuses = (by_pull.status, by_merges.status, by_ref.status)
    told = f"merge: {by_pull.told}; /merges: {by_merges.told}; ref: {by_ref.told}; updateRefs: {together or 'done'}"
    return as_relied_on(statuses == (405, 409, 422) and bool(together), told)


@probe("guards-and-ledgers", "A ruleset for all branches, `~ALL`, holds for no custom ref")
async def guards_and_ledgers(box: Sandbox) -> Seen:
    made = await box.ask(
        "POST",
        "/rulesets",
        {
            "name": f"probe-all-{box.word}",
            "target": "branch",
            "enforcement": "active",
            "conditions": {"ref_name": {"include": ["~ALL"], "exclude": []}},
            "rules": [{"type": "creation"}, {"type": "update"}, {"type": "deletion"}],
        },
    )
    if made.status != 201:
        return Seen(State.NOT_TRIED, f"the App may not make a ruleset: {made.told}")
    box.rulesets.append(int(made.body["id"]))
    name, sha = box.ref("guarded"), await box.commit("guarded ledger")
    try:
        await box.repo.update_refs([RefUpdate(name, ZERO_SHA, box.base)])
        await box.repo.update_refs([RefUpdate(name, box.base, sha)])
        await box.repo.update_refs([RefUpdate(name, sha, ZERO_SHA)])
        answer = Seen(State.AS_RELIED_ON, "made, moved and deleted")
    except RefsUndecided as refusal:
        answer = Seen(State.OTHERWISE, refusal.message)
    # Every other branch of the sandbox is guarded as long as it stands.
    await box.remove_rulesets()
    return answer


@probe("workflow-files", "A token without `workflows` merges no pull request that changes a workflow file: 403")
async def workflow_files(box: Sandbox) -> Seen:
    full = await box.token({"workflows": "write", "contents": "write"})
    bare = await box.token({"contents": "write", "pull_requests": "write"})
    if full.status != 201 or bare.status != 201:
        return Seen(State.NOT_TRIED, f"the App may not write workflow files: {full.told}")
    await said(box.holder(f"token {full.body['token']}").write("DELETE", "/installation/token", {}))
    base = await box.make_branch("workflow-base", await box.commit("base", file="base"))
    parent = await box.repo.commit_of_branch(base) or box.base
    tree = await box.repo.create_tree({f".github/workflows/probe-{box.word}.yml": WORKFLOW})
    head = await box.repo.create_commit(tree, (parent,), "workflow", datetime.now(UTC))
    branch = await box.make_branch("workflow-head", head)
    pull = await box.repo.create_pull(branch, base, f"Agent Recovery probe {box.word}", "", False)
    if not isinstance(pull, Pull):
        return Seen(State.OTHERWISE, pull.message)
    box.pulls.append(pull.number)
    holder = box.holder(f"token {bare.body['token']}")
    await box.ask("GET", "/pulls/{number}", number=pull.number)
    answer = await box.ask_as(holder, "PUT", "/pulls/{number}/merge", {"sha": head}, number=pull.number)
    await said(holder.write("DELETE", "/installation/token", {}))
    return as_relied_on(answer.status == 403, answer.told)
