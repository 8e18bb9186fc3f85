"""What a client of a later version of the REST API is shown, and versions there are none of."""

import pytest
from emulated import REPO, World

PULLS = f"/repos/{REPO}/pulls"


def test_a_later_version_shows_less(world: World) -> None:
    pull = world.open_pull()
    new = {"x-github-api-version": "2026-03-10"}
    first, later = world.bot.get(PULLS), world.bot.get(PULLS, headers=new)
    assert first.headers["x-github-api-version-selected"] == "2022-11-28"
    assert later.headers["x-github-api-version-selected"] == "2026-03-10"
    assert first.json()[0].keys() - later.json()[0].keys() == {"assignee", "merge_commit_sha"}
    assert "has_downloads" in first.json()[0]["base"]["repo"]
    assert "has_downloads" not in later.json()[0]["base"]["repo"]
    assert first.headers["etag"] != later.headers["etag"]
    assert world.bot.get(f"{PULLS}/{pull['number']}", headers=new).json()["assignees"] == []


def test_who_was_assigned_is_still_told(world: World) -> None:
    """The event's `assignee` is another thing than the Issue's."""
    issue = world.emulator.issue(REPO, "x", assignees=["dev"])
    url = f"/repos/{REPO}/issues/{issue['number']}/timeline"
    shown = world.bot.get(url, headers={"x-github-api-version": "2026-03-10"}).json()
    assert [e["assignee"]["login"] for e in shown if e["event"] == "assigned"] == ["dev"]


def test_limits_and_uninstalling_differ_by_version(world: World) -> None:
    new = {"x-github-api-version": "2026-03-10"}
    assert world.bot.get("/rate_limit").json().keys() == {"resources", "rate"}
    assert world.bot.get("/rate_limit", headers=new).json().keys() == {"resources"}
    token = {"authorization": f"Bearer {world.emulator.app_jwt(world.app)}"}
    gone = world.dev.delete(f"/app/installations/{world.installation['id']}", headers=new | token)
    assert gone.status_code == 202


@pytest.mark.parametrize("version", ["v3", "2027-01-01", ""])
def test_other_versions_there_are_none(world: World, version: str) -> None:
    refused = world.bot.get(PULLS, headers={"x-github-api-version": version})
    assert refused.status_code == 400
    assert f'"{version}", is not a supported version.' in refused.json()["message"]
