"""Probes of sizes: what GitHub refuses because it is too long, too many, or not the right kind."""

from typing import Any

from app.doctor.probe import Seen, as_relied_on, probe
from app.doctor.sandbox import Sandbox

LONGEST_SUMMARY = 65_535
BUTTON = {"label": "Again", "description": "Once more", "identifier": "again"}


def _note(**changed: Any) -> dict[str, Any]:
    place = {"path": "README.md", "start_line": 1, "end_line": 1, "annotation_level": "notice", "message": "m"}
    return {"output": {"title": "t", "summary": "s", "annotations": [place | changed]}}


@probe("check-run-limits", "A check-run with a text, button or annotation that is too long, or no conclusion, is 422")
async def check_run_limits(box: Sandbox) -> Seen:
    sha = await box.commit("limits")
    await box.make_branch("limits", sha)
    wrong: dict[str, dict[str, Any]] = {
        "summary": {"output": {"title": "t", "summary": "x" * (LONGEST_SUMMARY + 1)}},
        "button label": {"actions": [BUTTON | {"label": "x" * 21}]},
        "button description": {"actions": [BUTTON | {"description": "x" * 41}]},
        "button identifier": {"actions": [BUTTON | {"identifier": "x" * 21}]},
        "four buttons": {"actions": [BUTTON | {"identifier": str(n)} for n in range(4)]},
        "annotation title": _note(title="x" * 256),
        "annotation message": _note(message="x" * 65_537),
        "details_url": {"details_url": "ftp://example.com/x"},
        "no conclusion": {"status": "completed"},
    }
    answers = {}
    for what, fields in wrong.items():
        body = {"name": f"probe-{box.word}", "head_sha": sha, "status": "in_progress", **fields}
        answers[what] = await box.ask("POST", "/check-runs", body)
    fine = all(answer.status == 422 for answer in answers.values())
    return as_relied_on(fine, "; ".join(f"{what}: {answer.told}" for what, answer in answers.items()))


@probe("rerequest", "Asking again for a check-run that is not finished is refused with 422")
async def rerequest(box: Sandbox) -> Seen:
    sha = await box.commit("rerequest")
    await box.make_branch("rerequest", sha)
    body = {"name": f"probe-{box.word}", "head_sha": sha, "status": "queued"}
    run = await box.ask("POST", "/check-runs", body)
    if run.status != 201:
        return as_relied_on(False, f"no check-run: {run.told}")
    answer = await box.ask("POST", "/check-runs/{id}/rerequest", id=run.body["id"])
    done = {"status": "completed", "conclusion": "neutral"}
    await box.ask("PATCH", "/check-runs/{id}", done, id=run.body["id"])
    return as_relied_on(answer.status == 422, answer.told)


@probe("dispatch-limits", "A repository_dispatch with too long a type, or too large a payload, is refused with 422")
async def dispatch_limits(box: Sandbox) -> Seen:
    kind = f"agent-recovery-probe-{box.word}"
    wrong: dict[str, dict[str, Any]] = {
        "type": {"event_type": "x" * 101},
        "members": {"event_type": kind, "client_payload": {f"k{n}": n for n in range(11)}},
        "bytes": {"event_type": kind, "client_payload": {"x": "x" * 66_000}},
    }
    answers = {what: await box.ask("POST", "/dispatches", body) for what, body in wrong.items()}
    fine = all(answer.status == 422 for answer in answers.values())
    return as_relied_on(fine, "; ".join(f"{what}: {answer.told}" for what, answer in answers.items()))
