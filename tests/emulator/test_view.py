"""The pages for people: what they show, and that nothing of what strangers wrote becomes markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import quote

import httpx
import pytest
from emulated import REPO, World

from app.emulator.view.html import markdown, tag

UI = "/_emulator/ui"
EVIL = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>"


class Reader(HTMLParser):
    """The elements of a page and its visible text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def read(world: World, path: str) -> Reader:
    answer = httpx.get(world.emulator.url + path, trust_env=False)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    seen = Reader(answer.text)
    names = {name for name, _ in seen.tags}
    assert names.isdisjoint({"script", "img", "iframe", "form", "object", "base", "svg"})
    for name, attributes in seen.tags:
        assert not any(key.startswith("on") or key == "style" for key in attributes), name
        if "href" in attributes:
            assert re.match(r"(/|https?:)", attributes["href"] or ""), attributes
    return seen


def test_an_issue_with_its_rendered_comments(world: World) -> None:
    number = world.emulator.issue(REPO, "One", body="# Big\n\n* a\n* **b**\n\n|x|y|\n|-|-|\n|1|~~2~~|\n")["number"]
    comment = world.bot.post(f"/repos/{REPO}/issues/{number}/comments", json={"body": "`code` ünï"}).json()
    world.dev.patch(f"/repos/{REPO}/issues/comments/{comment['id']}", json={"body": "`more` ünï"})
    seen = read(world, f"{UI}/repos/octo/demo/issues/{number}")
    assert {"h1", "li", "strong", "code", "table", "s"} <= {name for name, _ in seen.tags}
    assert "more ünï" in seen.text
    assert "keeper[bot]" in seen.text
    assert "edited" in seen.text


def test_a_pull_request_with_checks_and_the_refs_of_its_repository(world: World) -> None:
    pull = world.open_pull(draft=True)
    head = pull["head"]["sha"]
    world.bot.post(f"/repos/{REPO}/check-runs", json={"name": "ci <1>", "head_sha": head, "status": "in_progress"})
    world.bot.post(f"/repos/{REPO}/statuses/{head}", json={"state": "pending", "context": "build"})
    world.bot.post(f"/repos/{REPO}/git/refs", json={"ref": "refs/agent-recovery/active/1", "sha": head})
    remark = {"path": "a.txt", "position": 1, "body": "why *one*?"}
    review = {"event": "COMMENT", "body": "Nearly <there>", "comments": [remark]}
    assert world.dev.post(f"/repos/{REPO}/pulls/{pull['number']}/reviews", json=review).is_success
    seen = read(world, f"{UI}/repos/octo/demo/issues/{pull['number']}")
    for words in (
        "draft, open",
        "ci <1>",
        "in_progress",
        "build",
        "pending",
        head,
        "Nearly <there>",
        "why one?",
        "on a.txt",
    ):
        assert words in seen.text
    shown = read(world, f"{UI}/repos/octo/demo").text
    assert "refs/agent-recovery/active/1" in shown
    assert "refs/heads/42-x" in shown
    assert "A change" in shown
    assert "octo/demo" in read(world, UI).text


def test_deliveries_requests_and_faults(world: World) -> None:
    world.emulator.change_app("keeper", webhook_url="http://127.0.0.1:9/hook")
    world.emulator.issue(REPO, "Told")
    world.emulator.flush()
    world.emulator.fault("status", match={"path_regex": "/labels$"}, code=503)
    assert world.bot.get(f"/repos/{REPO}/labels").status_code == 503
    listed = read(world, f"{UI}/deliveries")
    assert "issues.opened" in listed.text
    assert "failed to connect to host" in listed.text
    (path,) = [a["href"] for name, a in listed.tags if name == "a" and "/deliveries/" in (a["href"] or "")]
    full = read(world, str(path))
    assert '"action": "opened"' in full.text
    assert "X-GitHub-Delivery" in full.text
    assert f"GET /repos/{REPO}/labels" in read(world, f"{UI}/requests").text
    assert "status" in read(world, f"{UI}/faults").text
    assert "/labels$" in read(world, f"{UI}/faults").text


def test_what_strangers_write_stays_text(world: World) -> None:
    body = f"{EVIL}\n\n[a](javascript:alert(1)) [b](data:text/html,x) ![c](http://x/y.png) <javascript:alert(1)>"
    number = world.emulator.issue(REPO, EVIL, body=body)["number"]
    world.emulator.comment(REPO, number, "stranger", body)
    world.bot.get(f"/repos/{REPO}/{quote(EVIL)}")
    world.emulator.fault("status", match={"path_regex": EVIL.replace("(", "").replace(")", "")})
    seen = read(world, f"{UI}/repos/octo/demo/issues/{number}")
    assert EVIL in seen.text
    for path in ("/repos/octo/demo", "/requests", "/faults", "/deliveries", ""):
        read(world, UI + path)


def test_missing_pages_and_pages_of_elsewhere(world: World) -> None:
    url = world.emulator.url
    for path in ("/repos/octo/none", "/repos/octo/demo/issues/99", "/deliveries/1", "/nothing"):
        assert httpx.get(url + UI + path, trust_env=False).status_code == 404
    # A page elsewhere that makes its name lead here (DNS rebinding) or posts here learns and changes nothing.
    for headers in ({"host": "evil.example"}, {"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}):
        for method, where in (("GET", f"{UI}/requests"), ("POST", "/_emulator/reset")):
            refused = httpx.request(method, url + where, headers=headers, trust_env=False)
            assert refused.status_code == 403, headers
    assert httpx.get(url + UI, headers={"sec-fetch-site": "none"}, trust_env=False).status_code == 200
    assert world.bot.get(f"/repos/{REPO}").status_code == 200


@pytest.mark.parametrize("text", ["", "a < b & c", '"quoted"'])
def test_elements_escape_what_they_hold(text: str) -> None:
    shown = tag("p", text, title=text)
    assert Reader(shown).text == text
    assert Reader(shown).tags == [("p", {"title": text})]


def test_an_empty_text_is_said_so() -> None:
    assert "No text." in markdown(None)
