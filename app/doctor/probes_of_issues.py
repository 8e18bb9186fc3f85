"""Probes of Issues: locked conversations, hidden comments, sub-issues, assignees, labels."""

import asyncio

from app.doctor.asking import said
from app.doctor.finding import State
from app.doctor.probe import Seen, as_relied_on, probe
from app.doctor.sandbox import Sandbox

PATIENCE_S = 15
QUIET_S = 3
_HIDE = """
mutation ProbeHide($id: ID!) {
  minimizeComment(input: {subjectId: $id, classifier: OUTDATED}) { minimizedComment { isMinimized } }
}
"""


@probe("locked-issue", "An App may neither write nor edit a comment on a locked Issue")
async def locked_issue(box: Sandbox) -> Seen:
    number = int((await box.make_issue("locked"))["number"])
    comment = await box.repo.create_comment(number, "before")
    locked = await box.ask("PUT", "/issues/{number}/lock", {"lock_reason": "resolved"}, number=number)
    if locked.status != 204:
        return Seen(State.NOT_TRIED, f"it could not be locked: {locked.told}")
    written = await box.ask("POST", "/issues/{number}/comments", {"body": "after"}, number=number)
    edited = await box.ask("PATCH", "/issues/comments/{id}", {"body": "edited"}, id=comment.id)
    await box.ask("DELETE", "/issues/{number}/lock", number=number)
    await box.repo.delete_comment(comment.id)
    if written.status == 201:
        await box.repo.delete_comment(int(written.body["id"]))
    fine = (written.status, edited.status) == (403, 403)
    return as_relied_on(fine, f"written: {written.told}; edited: {edited.told}")


@probe("hide-comment", "An App that may write Issues, and nothing else, may hide a comment")
async def hide_comment(box: Sandbox) -> Seen:
    number = int((await box.make_issue("hidden"))["number"])
    made = await box.ask("POST", "/issues/{number}/comments", {"body": "to hide"}, number=number)
    minted = await box.token({"issues": "write"})
    if minted.status != 201:
        return Seen(State.NOT_TRIED, f"no second token: {minted.told}")
    holder = box.holder(f"token {minted.body['token']}")
    hidden = await said(holder.mutate("ProbeHide", _HIDE, {"id": made.body["node_id"]}))
    await said(holder.write("DELETE", "/installation/token", {}))
    await box.repo.delete_comment(int(made.body["id"]))
    return as_relied_on(hidden.status == 200 and not hidden.words, hidden.words or "hidden")


@probe("sub-issues", "A circular sub-issue is refused with 422, and moving one beside a stranger")
async def sub_issues(box: Sandbox) -> Seen:
    above, below, stranger = [await box.make_issue(name) for name in ("above", "below", "stranger")]
    route = "/issues/{number}/sub_issues"
    added = await box.ask("POST", route, {"sub_issue_id": below["id"]}, number=above["number"])
    if added.status != 201:
        return Seen(State.OTHERWISE, f"a plain one was refused: {added.told}")
    circular = await box.ask("POST", route, {"sub_issue_id": above["id"]}, number=below["number"])
    move = {"sub_issue_id": below["id"], "after_id": stranger["id"]}
    moved = await box.ask("PATCH", route + "/priority", move, number=above["number"])
    own = {"sub_issue_id": below["id"]}
    await box.ask("DELETE", "/issues/{number}/sub_issue", own, number=above["number"])
    fine = (circular.status, moved.status) == (422, 422)
    return as_relied_on(fine, f"circular: {circular.told}; moved: {moved.told}")


@probe("assignees", "Somebody who cannot be assigned is left out without a word")
async def assignees(box: Sandbox) -> Seen:
    number = int((await box.make_issue("assigned"))["number"])
    # No account has this name: it holds an underscore.
    body = {"assignees": [f"nobody_{box.word}"]}
    answer = await box.ask("POST", "/issues/{number}/assignees", body, number=number)
    fine = answer.status == 201 and answer.body["assignees"] == []
    return as_relied_on(fine, answer.told)


@probe("label-deleted", "Deleting a label takes it off its Issues without an event `unlabeled` of their own")
async def label_deleted(box: Sandbox) -> Seen:
    app = await said(box.as_app().get("/app", {}))
    if app.status != 200 or "issues" not in app.body["events"]:
        return Seen(State.NOT_TRIED, "the App is not subscribed to `issues` events")
    name = f"probe-{box.word}"
    box.labels.append(name)
    number = int((await box.make_issue("label"))["number"])
    before = await _deliveries(box, "labeled")
    labelled = await box.ask("POST", "/issues/{number}/labels", {"labels": [name]}, number=number)
    waited = 0
    while await _deliveries(box, "labeled") == before:
        if waited >= PATIENCE_S:
            return Seen(State.NOT_TRIED, f"labelled: {labelled.told}; no delivery within {PATIENCE_S} s")
        await asyncio.sleep(1)
        waited += 1
    before = await _deliveries(box, "unlabeled")
    await box.ask("DELETE", "/labels/{name}", name=name)
    await asyncio.sleep(max(QUIET_S, 2 * waited))
    issue = await box.ask("GET", "/issues/{number}", number=number)
    sent, kept = await _deliveries(box, "unlabeled") - before, len(issue.body["labels"])
    return as_relied_on((sent, kept) == (0, 0), f"{sent} events `unlabeled`, {kept} labels left on the Issue")


async def _deliveries(box: Sandbox, action: str) -> int:
    """How many of the last 100 deliveries were `issues` events of this action in this repository."""
    answer = await said(box.as_app().get("/app/hook/deliveries", {}, {"per_page": 100}))
    listed = answer.body if answer.status == 200 else []
    mine = [d for d in listed if d["repository_id"] == box.repo.id and d["event"] == "issues"]
    return sum(d["action"] == action for d in mine)
