"""Check-runs: who may write, what a body may hold, what becomes of runs over time."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from emulated import ALL, REPO, Inbox, World, rest

BASE = f"/repos/{REPO}"


def create(world: World, **more: Any) -> httpx.Response:
    return world.bot.post(f"{BASE}/check-runs", json={"name": "gate", "head_sha": world.head("42-x")} | more)


def output(**more: Any) -> dict[str, Any]:
    return {"title": "t", "summary": "s"} | more


def annotation(**more: Any) -> dict[str, Any]:
    return {"path": "a.txt", "start_line": 1, "end_line": 1, "annotation_level": "notice", "message": "m"} | more


def other_bot(world: World) -> httpx.Client:
    app = world.emulator.app("other", permissions=ALL, events=["check_run", "check_suite"])
    number = world.emulator.installation("other", "octo")["id"]
    return rest(world.emulator, world.emulator.installation_token(app, number))


# Who


@pytest.mark.parametrize("kind", ["classic", "fine_grained"])
def test_people_write_no_checks(world: World, kind: str) -> None:
    token = (
        world.emulator.classic_token("dev")
        if kind == "classic"
        else world.emulator.fine_grained_token("dev", "octo", {"checks": "write"})
    )
    person, made = rest(world.emulator, token), create(world).json()
    body = {"name": "gate", "head_sha": world.head("42-x")}
    for answer in (
        person.post(f"{BASE}/check-runs", json=body),
        person.patch(f"{BASE}/check-runs/{made['id']}", json={"status": "in_progress"}),
        person.post(f"{BASE}/check-suites", json=body),
        person.post(f"{BASE}/check-runs/{made['id']}/rerequest"),
    ):
        assert (answer.status_code, answer.json()["message"]) == (403, "You must authenticate via a GitHub App.")


def test_only_its_own_app_changes_a_run(world: World) -> None:
    made, other = create(world, conclusion="success").json(), other_bot(world)
    words = f"Invalid app_id `{world.app['id']}` - check run can only be modified by the GitHub App that created it."
    for answer in (
        other.patch(f"{BASE}/check-runs/{made['id']}", json={"status": "in_progress"}),
        other.post(f"{BASE}/check-runs/{made['id']}/rerequest"),
        other.post(f"{BASE}/check-suites/{made['check_suite']['id']}/rerequest"),
    ):
        assert (answer.status_code, answer.json()["message"]) == (403, words)
    assert other.patch(f"{BASE}/check-runs/1", json={"status": "queued"}).status_code == 404


def test_without_the_permission(world: World) -> None:
    number = world.installation["id"]
    token = world.emulator.installation_token(world.app, number, permissions={"contents": "read"})
    refused = rest(world.emulator, token).post(f"{BASE}/check-runs", json={})
    assert (refused.status_code, refused.json()["message"]) == (403, "Resource not accessible by integration")
    assert refused.headers["x-accepted-github-permissions"] == "checks=write"


def test_an_app_on_behalf_of_a_person(world: World) -> None:
    token = rest(world.emulator, world.emulator.token_on_behalf("keeper", "dev"))
    made = token.post(f"{BASE}/check-runs", json={"name": "gate", "head_sha": world.head("42-x")})
    assert (made.status_code, made.json()["app"]["slug"]) == (201, "keeper")


# What

LONG, E, SMILE = "a" * 65_536, "é", "😀"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"name": None}, '"name" wasn\'t supplied.'),
        ({"head_sha": None}, '"head_sha" wasn\'t supplied.'),
        ({"name": None, "head_sha": None}, '"head_sha", "name" weren\'t supplied.'),
        (
            {"status": "waiting"},
            'No subschema in "anyOf" matched.\n'
            'waiting is not a member of ["queued", "in_progress", "completed"].\n'
            'waiting is not a member of ["completed"].\n'
            '"conclusion" wasn\'t supplied.\n'
            'waiting is not a member of ["queued", "in_progress"].',
        ),
        (
            {"conclusion": "stale"},
            'stale is not a member of ["success", "failure", "neutral", "cancelled", "timed_out", "action_required", '
            '"skipped"].',
        ),
        ({"started_at": "yesterday"}, "yesterday is not a valid date-time."),
        ({"output": output(summary=LONG)}, "Only 65535 characters are allowed; 65536 were supplied."),
        ({"output": output(text=LONG)}, "Only 65535 characters are allowed; 65536 were supplied."),
        ({"output": output(text=SMILE * 32_768)}, "Only 65535 characters are allowed; 65536 were supplied."),
        ({"output": {"title": "no summary"}}, '"summary" wasn\'t supplied.'),
        ({"output": {"summary": "no title"}}, '"title" wasn\'t supplied.'),
        ({"output": output(annotations=[annotation()] * 51)}, "No more than 50 items are allowed; 51 were supplied."),
        (
            {"output": output(annotations=[{"path": "a"}])},
            '"annotation_level", "end_line", "message", "start_line" weren\'t supplied.',
        ),
        (
            {"output": output(annotations=[annotation(annotation_level="loud")])},
            'loud is not a member of ["notice", "warning", "failure", "error"].',
        ),
        (
            {"output": output(annotations=[annotation(title="t" * 256)])},
            "Only 255 characters are allowed; 256 were supplied.",
        ),
        ({"actions": [{"label": "l", "description": "d"}]}, '"identifier" wasn\'t supplied.'),
        (
            {"actions": [{"label": "l" * 21, "description": "d", "identifier": "i"}]},
            "Only 20 characters are allowed; 21 were supplied.",
        ),
        (
            {"actions": [{"label": "l", "description": "d" * 41, "identifier": "i"}]},
            "Only 40 characters are allowed; 41 were supplied.",
        ),
        (
            {"actions": [{"label": "l", "description": "d", "identifier": "i" * 21}]},
            "Only 20 characters are allowed; 21 were supplied.",
        ),
        (
            {"actions": [{"label": "l", "description": "d", "identifier": "i"}] * 4},
            "No more than 3 items are allowed; 4 were supplied.",
        ),
    ],
)
def test_unreadable_bodies(world: World, body: dict[str, Any], words: str) -> None:
    refused = create(world, **body)
    assert (refused.status_code, refused.json()["message"]) == (422, f"Invalid request.\n\n{words}")
    assert world.bot.get(f"{BASE}/commits/42-x/check-runs").json()["total_count"] == 0


@pytest.mark.parametrize(
    ("body", "field", "code", "words"),
    [
        (
            {"output": output(summary=E * 32_768)},
            "summary",
            "custom",
            "summary exceeds a maximum bytesize of 65535",
        ),
        (
            {"output": output(summary=SMILE * 32_767)},
            "summary",
            "custom",
            "summary exceeds a maximum bytesize of 65535",
        ),
        (
            {"output": output(annotations=[annotation(message="m" * 65_537)])},
            "annotations",
            "custom",
            "message exceeds a maximum bytesize of 65536",
        ),
        ({"output": output(annotations=[annotation(start_column=1)])}, "annotations", "invalid", None),
        (
            {"output": output(annotations=[annotation(end_line=2, start_column=1, end_column=2)])},
            "annotations",
            "invalid",
            None,
        ),
        ({"output": output(annotations=[annotation(start_column=3, end_column=2)])}, "annotations", "invalid", None),
        ({"output": output(annotations=[annotation(start_column=0, end_column=2)])}, "annotations", "invalid", None),
        ({"output": output(annotations=[annotation(start_line=2)])}, "annotations", "invalid", None),
        ({"details_url": "ftp://x"}, "details_url", "custom", "details_url must use http or https scheme"),
        ({"status": "completed"}, "conclusion", "missing_field", None),
        ({"completed_at": "2026-11-30T00:00:00Z"}, "conclusion", "missing_field", None),
    ],
)
def test_invalid_values(world: World, body: dict[str, Any], field: str, code: str, words: str | None) -> None:
    refused = create(world, **body)
    assert (refused.status_code, refused.json()["message"]) == (422, "Validation Failed")
    (error,) = refused.json()["errors"]
    assert (error["field"], error["code"], error.get("message")) == (field, code, words)


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("a" * 65_535, 65_535),
        (E * 32_768, 32_767),
        (E * 65_535, 32_767),
        (SMILE * 32_767, 16_383),
    ],
)
def test_a_text_is_cut_to_its_bytes_without_a_word(world: World, text: str, stored: int) -> None:
    made = create(world, output=output(text=text))
    assert made.status_code == 201
    assert len(made.json()["output"]["text"]) == stored


def test_permission_comes_before_the_body(world: World) -> None:
    assert world.reader.post(f"{BASE}/check-runs", json={"status": "done"}).status_code == 403


# Over time


def test_an_output_replaces_the_whole_output_and_annotations_are_added(world: World) -> None:
    made = create(world, output=output(text="long", annotations=[annotation()] * 50)).json()
    url = f"{BASE}/check-runs/{made['id']}"
    changed = world.bot.patch(url, json={"output": output(summary="new", annotations=[annotation(title="late")] * 50)})
    shown = changed.json()["output"]
    assert (shown["summary"], shown["text"], shown["annotations_count"]) == ("new", None, 100)
    assert world.bot.patch(url, json={"external_id": "1"}).json()["output"]["summary"] == "new"
    page = world.bot.get(f"{url}/annotations?per_page=60&page=2").json()
    assert (len(page), page[-1]["title"], page[-1]["raw_details"]) == (40, "late", None)
    assert page[-1]["blob_href"].endswith(f"/{REPO}/blob/{made['head_sha']}/a.txt")


def test_graphql_shows_annotations(world: World) -> None:
    given = [annotation(title="one", start_column=2, end_column=3), annotation(annotation_level="error")]
    made = create(world, output=output(annotations=given)).json()
    query = """query($id:ID!){node(id:$id){... on CheckRun{annotations(first:5){totalCount nodes{annotationLevel path
      title message blobUrl rawDetails location{start{line column} end{line column}}}}}}}"""
    shown = world.graphql(query, id=made["node_id"])["data"]["node"]["annotations"]
    assert (shown["totalCount"], shown["nodes"][1]["annotationLevel"]) == (2, None)
    assert shown["nodes"][0] == {
        "annotationLevel": "NOTICE",
        "path": "a.txt",
        "title": "one",
        "message": "m",
        "blobUrl": f"{world.emulator.url}/{REPO}/blob/{made['head_sha']}/a.txt",
        "rawDetails": None,
        "location": {"start": {"line": 1, "column": 2}, "end": {"line": 1, "column": 3}},
    }


def test_a_conclusion_ends_a_run_whatever_the_status_says(world: World) -> None:
    made = create(world, status="in_progress", conclusion="neutral").json()
    assert (made["status"], made["conclusion"]) == ("completed", "neutral")
    given = create(world, conclusion="success", completed_at="2026-11-30T01:02:03Z").json()
    assert given["completed_at"] == "2026-11-30T01:02:03Z"
    again = world.bot.patch(f"{BASE}/check-runs/{given['id']}", json={"status": "completed"})
    assert again.status_code == 422


def test_unfinished_runs_turn_stale_after_fourteen_days(world: World) -> None:
    open_run, done = create(world, status="in_progress").json(), create(world, conclusion="success").json()
    number = world.installation["id"]

    def conclusion(run: dict[str, Any]) -> str | None:
        bot = rest(world.emulator, world.emulator.installation_token(world.app, number))
        found: str | None = bot.get(f"{BASE}/check-runs/{run['id']}").json()["conclusion"]
        return found

    world.emulator.advance(13.5 * 86_400)
    assert conclusion(open_run) is None
    world.emulator.advance(1.5 * 86_400)
    assert [conclusion(open_run), conclusion(done)] == ["stale", "success"]


def test_only_a_thousand_runs_of_a_name_stay(world: World) -> None:
    world.emulator.rate(f"installation:{world.installation['id']}", 10_000)
    sha, first = world.head("42-x"), create(world).json()
    elsewhere = create(world, name="another").json()
    for _ in range(1000):
        assert world.bot.post(f"{BASE}/check-runs", json={"name": "gate", "head_sha": sha}).status_code == 201
    assert world.bot.get(f"{BASE}/check-runs/{first['id']}").status_code == 404
    assert world.bot.get(f"{BASE}/check-runs/{elsewhere['id']}").status_code == 200
    listed = world.bot.get(f"{BASE}/commits/{sha}/check-runs?check_name=gate&filter=all").json()
    assert listed["total_count"] == 1000


# Asking again


def heard(world: World, app: str, event: str, action: str) -> list[dict[str, Any]]:
    world.emulator.flush()
    return [
        d["payload"] for d in world.emulator.deliveries() if (d["app"], d["event"], d["action"]) == (app, event, action)
    ]


@pytest.fixture
def listening(world: World, inbox: Inbox) -> World:
    world.emulator.change_app("keeper", webhook_url=inbox.url)
    world.emulator.app("other", permissions=ALL, events=["check_run", "check_suite"], webhook_url=inbox.url)
    world.emulator.installation("other", "octo")
    return world


def test_rerequesting_a_run_resets_its_suite_and_tells_its_owner_alone(listening: World) -> None:
    world = listening
    made = create(world, conclusion="failure").json()
    suite = f"{BASE}/check-suites/{made['check_suite']['id']}"
    assert world.bot.get(suite).json()["status"] == "completed"
    answer = world.bot.post(f"{BASE}/check-runs/{made['id']}/rerequest")
    assert (answer.status_code, answer.json()) == (201, {})
    run, reset = world.bot.get(f"{BASE}/check-runs/{made['id']}").json(), world.bot.get(suite).json()
    assert (run["status"], run["conclusion"]) == ("completed", "failure")
    assert (reset["status"], reset["conclusion"]) == ("queued", None)
    (told,) = heard(world, "keeper", "check_run", "rerequested")
    assert told["check_run"]["id"] == made["id"]
    assert told["check_run"]["check_suite"]["status"] == "queued"
    assert heard(world, "other", "check_run", "rerequested") == []
    assert heard(world, "other", "check_run", "created") != []
    world.bot.patch(f"{BASE}/check-runs/{made['id']}", json={"conclusion": "success"})
    assert world.bot.get(suite).json()["conclusion"] == "success"


def test_an_unfinished_run_is_not_rerequestable(world: World) -> None:
    made = create(world, status="in_progress").json()
    refused = world.bot.post(f"{BASE}/check-runs/{made['id']}/rerequest")
    assert (refused.status_code, refused.json()["message"]) == (422, "This check run is not rerequestable")


def test_a_person_runs_a_check_again(listening: World) -> None:
    made = create(listening, conclusion="failure").json()
    listening.emulator.rerun_check(made["id"], "dev")
    (told,) = heard(listening, "keeper", "check_run", "rerequested")
    assert told["sender"]["login"] == "dev"
    with pytest.raises(httpx.HTTPStatusError, match="403"):
        listening.emulator.rerun_check(made["id"], "reader")


def test_buttons(listening: World) -> None:
    world = listening
    button = {"label": "Resume", "description": "Let another agent go on", "identifier": "resume"}
    made = create(world, status="in_progress", actions=[button]).json()
    with pytest.raises(httpx.HTTPStatusError, match="once the check-run is completed"):
        world.emulator.press(made["id"], "resume", "dev")
    world.bot.patch(f"{BASE}/check-runs/{made['id']}", json={"conclusion": "action_required"})
    with pytest.raises(httpx.HTTPStatusError, match="no button"):
        world.emulator.press(made["id"], "stop", "dev")
    with pytest.raises(httpx.HTTPStatusError, match="403"):
        world.emulator.press(made["id"], "resume", "reader")
    world.emulator.press(made["id"], "resume", "dev")
    (told,) = heard(world, "keeper", "check_run", "requested_action")
    assert told["requested_action"] == {"identifier": "resume"}
    assert told["sender"]["login"] == "dev"
    assert heard(world, "other", "check_run", "requested_action") == []


# Suites


def test_a_push_asks_every_app_that_may_write_checks(listening: World) -> None:
    world = listening
    world.emulator.app(
        "blind", permissions={"checks": "read"}, events=["check_suite"], webhook_url="http://127.0.0.1:9"
    )
    world.emulator.installation("blind", "octo")
    sha = world.emulator.commit(REPO, {"a.txt": "new"})
    for app in ("keeper", "other"):
        (told,) = [t for t in heard(world, app, "check_suite", "requested") if t["check_suite"]["head_sha"] == sha]
        assert told["check_suite"]["app"]["slug"] == app
        assert told["check_suite"]["head_branch"] == "main"
    assert heard(world, "blind", "check_suite", "requested") == []


def test_a_repository_may_switch_the_asking_off(listening: World) -> None:
    world = listening
    off = {"auto_trigger_checks": [{"app_id": world.app["id"], "setting": False}]}
    refused = world.dev.patch(f"{BASE}/check-suites/preferences", json=off)
    assert (refused.status_code, refused.json()["message"]) == (403, "Must have admin rights to Repository.")
    shown = world.bot.patch(f"{BASE}/check-suites/preferences", json=off).json()
    assert shown["preferences"]["auto_trigger_checks"][0] == off["auto_trigger_checks"][0]
    assert shown["repository"]["full_name"] == REPO
    sha = world.emulator.commit(REPO, {"a.txt": "new"})
    slugs = {s["app"]["slug"] for s in world.bot.get(f"{BASE}/commits/{sha}/check-suites").json()["check_suites"]}
    assert slugs == {"other"}
    made = [world.bot.post(f"{BASE}/check-suites", json={"head_sha": sha}) for _ in range(2)]
    assert [m.status_code for m in made] == [201, 200]
    assert made[0].json()["id"] == made[1].json()["id"]


def test_a_suite_is_completed_with_its_last_run(listening: World) -> None:
    world = listening
    first = create(world, name="one", conclusion="success").json()
    second = create(world, name="two", status="in_progress").json()
    told = heard(world, "other", "check_suite", "completed")
    assert [t["check_suite"]["conclusion"] for t in told] == ["success"]
    world.bot.patch(f"{BASE}/check-runs/{second['id']}", json={"conclusion": "failure"})
    told = heard(world, "other", "check_suite", "completed")
    assert [t["check_suite"]["conclusion"] for t in told] == ["success", "failure"]
    listed = world.bot.get(f"{BASE}/commits/42-x/check-suites?check_name=one").json()
    assert [s["id"] for s in listed["check_suites"]] == [first["check_suite"]["id"]]
    assert listed["check_suites"][0]["latest_check_runs_count"] == 2


def test_rerequesting_a_suite(listening: World) -> None:
    made = create(listening, conclusion="failure").json()
    answer = listening.bot.post(f"{BASE}/check-suites/{made['check_suite']['id']}/rerequest")
    assert (answer.status_code, answer.json()) == (201, {})
    (told,) = heard(listening, "keeper", "check_suite", "rerequested")
    assert told["check_suite"]["id"] == made["check_suite"]["id"]
    assert heard(listening, "other", "check_suite", "rerequested") == []
