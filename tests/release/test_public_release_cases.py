"""The public cases of releases through the webhook endpoint, the running service and GitHub: who may authorize and for
how long (B24), which checks let a release through (B22, B29), texts without a measure (B27).
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from loop_world import REPO
from release_world import INTO
from scene import Scene
from served import Served

FIXTURES = Path(__file__).parents[1] / "fixtures"
GUARDED = json.loads((FIXTURES / "release_authorizations.json").read_text())
WORDS = json.loads((FIXTURES / "check_results.json").read_text())
HEADS = json.loads((FIXTURES / "check_results_of_old_heads.json").read_text())
LONG = json.loads((FIXTURES / "long_text.json").read_text())
LONGEST = 65_536
pytestmark = [pytest.mark.drill, pytest.mark.timeout(300)]
Begun = Callable[[str], Scene]


# ---- B24


def _head_changed(s: Scene) -> None:
    s.world.people[s.boss].patch(f"/repos/{REPO}", json={"allow_auto_merge": True}).raise_for_status()
    s.authorize(s.maya)
    s.mutate(s.milo, "enablePullRequestAutoMerge", mergeMethod="MERGE")
    s.world.differ(branch=s.trunk)
    s.world.rest()
    assert s.world.pull(s.number)["auto_merge"] is None


def _base_changed(s: Scene) -> None:
    s.authorize(s.maya)
    s.world.branch(f"base-of-{s.trunk}")
    s.world.as_person(s.milo, "PATCH", f"pulls/{s.number}", base=f"base-of-{s.trunk}")


def _said_as(association: str, who: Callable[[Scene], str]) -> Callable[[Scene], None]:
    """The delivery of a comment in which GitHub calls its author something."""

    def case(s: Scene) -> None:
        s.world.emulator.delivery_mode("drop")
        comment = s.world.say(who(s), s.number, f"/recovery authorize-release {s.head}")
        s.world.emulator.delivery_mode("normal")
        sent = next(d for d in reversed(s.world.emulator.deliveries()) if d["event"] == "issue_comment")["payload"]
        assert sent["comment"]["id"] == comment["id"]
        assert s.world.deliver("issue_comment", sent | {"comment": comment | {"author_association": association}}) < 300

    return case


def _permission_answers(code: int) -> Callable[[Scene], None]:
    def case(s: Scene) -> None:
        order = {"path_regex": f"/collaborators/{s.milo}/permission", "identity": "app:agent-recovery"}
        s.world.emulator.fault("status", match=order, times=None, code=code, body={"message": "so it is"})
        s.say(s.milo, f"/recovery authorize-release {s.head}")
        s.world.rest()
        # It goes on until the release is left: a word that GitHub gave no answer about is asked about again.
        assert s.greens() == []

    return case


def _label_by_bot(s: Scene) -> None:
    s.world.asked("maya", "POST", "labels", name="release-approved", color="0e8a16", description="Approved")
    assert s.as_other_app("POST", f"issues/{s.number}/labels", labels=["release-approved"]).is_success


CASES: dict[str, Callable[[Scene], object]] = {
    "head_changed": _head_changed,
    "base_changed": _base_changed,
    "exact": lambda s: s.authorize(s.maya),
    "private_member": _said_as("CONTRIBUTOR", lambda s: s.maya),
    "association_member_but_read_only": _said_as("MEMBER", lambda s: "rita"),
    "permission_404": _permission_answers(404),
    "permission_api_500": _permission_answers(500),
    "short_sha": lambda s: s.told(s.maya, f"/recovery authorize-release {s.head[:7]}"),
    "no_sha": lambda s: s.told(s.maya, "/recovery authorize-release"),
    "label_by_bot": _label_by_bot,
}


@pytest.mark.parametrize("name", CASES)
def test_b24_who_authorizes_and_for_how_long(served: Served, begun: Begun, name: str) -> None:
    expected = GUARDED["expected"]["cases"][name]
    scene = begun(f"b24 {name}")
    CASES[name](scene)
    served.rest()
    if expected.get("allowed") or expected.get("may_authorise"):
        assert scene.guard() == "success"
        return
    if expected.get("reply") == "full_sha_needed":
        said = served.ours(scene.number)[-1]["body"]
        assert "40 characters" in said
        assert scene.head in said
    assert scene.greens() == []
    answer = scene.told(scene.boss, "/recovery merge-release")
    assert "authoriz" in answer, answer
    assert served.reached() == []


def test_b24_what_github_did_not_say_is_asked_again(served: Served, begun: Begun) -> None:
    assert GUARDED["expected"]["cases"]["permission_api_500"]["retry_later"]
    scene = begun("b24 asked again")
    order = {"path_regex": f"/collaborators/{scene.milo}/permission", "identity": "app:agent-recovery"}
    served.emulator.fault("status", match=order, times=2, code=500, body={"message": "out of order"})
    scene.say(scene.milo, f"/recovery authorize-release {scene.head}")
    served.rest_through()
    assert scene.guard() == "success"


def test_b24_the_author_of_the_pull_request_does_not_authorize_it(served: Served, begun: Begun) -> None:
    assert not GUARDED["expected"]["cases"]["self_authorise"]["may_authorise"]
    trunk = "release-b24-own"
    scene = Scene(served, trunk)
    served.branch(trunk)
    served.emulator.delivery_mode("hold")
    served.differ(branch=trunk)
    served.open_pull(trunk, INTO, who=scene.boss)
    served.emulator.delivery_mode("normal")
    served.emulator._post("/deliveries/release")
    served.rest()
    scene.authorize(scene.boss)
    assert scene.greens() == []
    scene.authorize(scene.maya)
    assert scene.guard() == "success"


def test_b24_a_rule_that_refuses_is_not_gone_around(served: Served, begun: Begun) -> None:
    assert not GUARDED["expected"]["cases"]["admin_override"]["bypass"]
    scene = begun("b24 admin_override")
    reviews = {
        "dismiss_stale_reviews_on_push": False,
        "require_code_owner_review": False,
        "require_last_push_approval": False,
        "required_approving_review_count": 1,
        "required_review_thread_resolution": False,
    }
    rule = served.require_guard(name="reviews", rules=[{"type": "pull_request", "parameters": reviews}])
    scene.authorize(scene.maya)
    answer = scene.told(scene.boss, "/recovery merge-release")
    assert "review" in answer, answer
    assert served.reached() == []
    served.as_person(scene.boss, "DELETE", f"rulesets/{rule}")


# ---- B22, B29


def _results(s: Scene, runs: Sequence[dict[str, Any]], statuses: Sequence[dict[str, Any]] = ()) -> None:
    for run in runs:
        fields = {key: value for key, value in run.items() if key in ("name", "status", "conclusion") and value}
        assert s.as_other_app("POST", "check-runs", head_sha=s.head, **fields).is_success, run
    for status in statuses:
        s.world.as_person(s.wanda, "POST", f"statuses/{s.head}", **status)


def _required(s: Scene) -> None:
    """GitHub asks for both names from now on: rules are known to the App for a minute, so they stay the same here."""
    checks = [{"context": name} for name in ("build", "cov")]
    parameters = {"strict_required_status_checks_policy": False, "required_status_checks": checks}
    rule = {"type": "required_status_checks", "parameters": parameters}
    if "checks" not in {known["name"] for known in s.world.as_person("boss", "GET", "rulesets")}:
        s.world.require_guard(name="checks", rules=[rule])
        s.world.restart()


def _other_passes(s: Scene, name: str) -> None:
    _results(s, [], [{"context": "cov" if name == "build" else "build", "state": "success"}])


PLAYED = {"neutral", "absent", "queued", "action_required", "status_success", "status_error"}
"""One of each verdict and kind; the tables of landing hold all of them."""


@pytest.mark.parametrize(
    "case", [case for case in WORDS["input"]["cases"] if case["name"] in PLAYED], ids=lambda case: case["name"]
)
def test_b22_only_what_passed_lets_an_authorized_release_through(
    served: Served, begun: Begun, case: dict[str, Any]
) -> None:
    scene = begun(f"b22 {case['name']}")
    _required(scene)
    (name,) = case["required"]
    _other_passes(scene, name)
    _results(scene, case["check_runs"], case.get("statuses", []))
    served.rest()
    scene.authorize(scene.maya)
    number = scene.number
    answer = scene.told(scene.milo, "/recovery merge-release")
    passes = WORDS["expected"]["cases"][case["name"]]["verdict"] == "pass"
    assert (number in served.merges()) == passes, answer
    assert answer


def _of_heads() -> dict[str, Callable[[Scene], None]]:
    cases = {case["name"]: case for case in HEADS["input"]["cases"]}

    def fresh_head(s: Scene) -> None:
        _results(s, cases["fresh_head"]["checks"]["a" * 40])
        s.world.differ(branch=s.trunk)
        s.world.rest()

    def two_suites_disagree(s: Scene) -> None:
        _results(s, [{"name": "build", "conclusion": "success"}])
        s.third_app.post(
            f"/repos/{REPO}/check-runs", json={"name": "build", "head_sha": s.head, "conclusion": "failure"}
        ).raise_for_status()

    def status_and_check_same_name(s: Scene) -> None:
        both = cases["status_and_check_same_name"]
        _results(s, [both["check"]], [both["status"]])

    return {
        "fresh_head": fresh_head,
        "two_suites_disagree": two_suites_disagree,
        "status_and_check_same_name": status_and_check_same_name,
    }


@pytest.mark.parametrize("name", _of_heads())
def test_b29_old_and_doubled_results_let_no_release_through(served: Served, begun: Begun, name: str) -> None:
    scene = begun(f"b29 {name}")
    _required(scene)
    _other_passes(scene, "build")
    _of_heads()[name](scene)
    scene.authorize(scene.maya)
    number = scene.number
    answer = scene.told(scene.milo, "/recovery merge-release")
    assert HEADS["expected"]["cases"][name]["verdict"] in ("pending", "fail")
    assert number not in served.merges(), answer


def test_b29_the_guards_name_from_another_app_is_not_the_guard(served: Served, begun: Begun) -> None:
    assert HEADS["expected"]["cases"]["name_from_other_app"]["verdict"] == "pending"
    scene = begun("b29 another app")
    rule = served.require_guard(name="the guard")
    scene.green_run()
    served.as_person(scene.wanda, "POST", f"statuses/{scene.head}", state="success", context="Agent Recovery / release")
    scene.mutate(scene.maya, "markPullRequestReadyForReview")
    refused = served.asked(scene.boss, "PUT", f"pulls/{scene.number}/merge")
    assert refused.status_code == 405, refused.text
    assert "was not set by the expected" in refused.text or "failing" in refused.text
    served.as_person(scene.boss, "DELETE", f"rulesets/{rule}")


def test_b29_a_late_event_of_an_old_head_changes_nothing(served: Served, begun: Begun) -> None:
    scene = begun("b29 late event")
    old = scene.head
    scene.authorize(scene.maya)
    run = served.guards(old)[-1]
    late = next(d["payload"] for d in reversed(served.emulator.deliveries()) if d["event"] == "pull_request")
    served.differ(branch=scene.trunk)
    served.rest()
    event = late | {"action": "completed", "check_run": run}
    assert served.deliver("check_run", event) < 300
    assert served.deliver("pull_request", late) < 300
    served.rest()
    assert scene.guard() == "action_required"


# ---- B27


def _text(case: dict[str, Any]) -> str:
    made = case["generate"]
    return str(made["unit"] * made["count"] + made.get("then", ""))


TEXTS = {
    case["name"]: _text(case)
    for case in LONG["input"]["cases"]
    if case["name"] in ("too_long", "emoji_on_the_cut", "zwj_family_on_the_cut")
}


@pytest.mark.parametrize("name", TEXTS)
def test_b27_an_answer_to_any_text_fits_and_is_whole(served: Served, begun: Begun, name: str) -> None:
    scene = begun(f"b27 {name}")
    said = f"/recovery hold {TEXTS[name][-900:]}\n\n{TEXTS[name]}"[:LONGEST]
    answer = scene.told(scene.maya, said)
    assert answer
    assert len(answer.encode("utf-16-le", "strict")) // 2 <= LONGEST
    assert not answer.endswith("\u200d")


def test_b27_half_a_character_in_a_delivery_breaks_nothing(served: Served, begun: Begun) -> None:
    scene = begun("b27 surrogate")
    sent = next(d for d in reversed(served.emulator.deliveries()) if d["event"] == "pull_request")["payload"]
    comment = served.say(scene.maya, scene.number, "/recovery status")
    served.rest()
    broken = comment | {"body": json.loads('"/recovery hold \\ud83d"')}
    event = sent | {"action": "created", "comment": broken, "issue": served.get(f"issues/{scene.number}")}
    assert served.deliver("issue_comment", event | {"sender": comment["user"]}) < 300
    served.rest()
    assert served.service.get("/healthz").status_code == 200


def test_b27_what_github_finds_too_long_is_said_shortly(served: Served, begun: Begun) -> None:
    """Refused with 422, the answer is not silence."""
    scene = begun("b27 refused")
    refusal = next(case for case in LONG["input"]["cases"] if case["name"] == "refused_422")["response"]
    match = {"method": "POST", "path_regex": f"/issues/{scene.number}/comments", "identity": "app:agent-recovery"}
    body = {"message": "Validation Failed", "errors": [{"message": refusal["message"]}]}
    served.emulator.fault("status", match=match, times=1, code=422, body=body)
    comment = scene.say(scene.maya, "/recovery status")
    served.rest_through()
    served.emulator.clear_faults()
    reactions = [r["content"] for r in served.get(f"issues/comments/{comment}/reactions")]
    assert served.answers(scene.number, comment) or "confused" in reactions or "rocket" in reactions
