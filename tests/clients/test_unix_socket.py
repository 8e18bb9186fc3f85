"""The unix socket by which `gh` reaches the emulator as github.com."""

from __future__ import annotations

import httpx
from outsiders import REPO, Outside


def test_links_lead_back_to_the_host_that_the_client_named(outside: Outside) -> None:
    transport = httpx.HTTPTransport(uds=str(outside.socket))
    with httpx.Client(transport=transport, base_url="http://api.github.com") as client:
        answer = client.get(f"/repos/{REPO}/branches?per_page=1")
        assert [b["name"] for b in answer.json()] == ["42-x"]
        assert answer.links["next"]["url"].startswith("https://api.github.com/repositories/")
        assert answer.json()[0]["commit"]["url"].startswith(f"https://api.github.com/repos/{REPO}/commits/")
    plain = httpx.get(f"{outside.url}/repos/{REPO}/branches?per_page=1", trust_env=False)
    assert plain.links["next"]["url"].startswith(outside.url)
