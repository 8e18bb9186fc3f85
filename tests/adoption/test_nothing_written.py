"""Installed on a repository that asked for nothing: webhooks, start-up and sweep read, and nothing is written."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from loop_world import PERMISSIONS, LoopWorld

from app.controller.controller import Controller
from app.domain.agent_api import ClaimRequest
from app.domain.outcome import Code, Exit, Refused, exit_code
from app.emulator.client import Emulator
from app.service.events import Poked, keys_of

PATH = ".github/agent-recovery.yml"
REPO = "acme/legacy"
EVENTS = ["issues", "issue_comment", "pull_request", "push", "create", "delete", "check_run", "repository"]
BRANCHES = 60
PULLS = 40


class Crowd(LoopWorld):
    """A repository as it was before the App came: 60 branches, 40 open pull requests, checks of others."""

    def __init__(self, emulator: Emulator, folder: Path) -> None:
        super().__init__(emulator, folder)
        names = [f"feature-{n}" for n in range(BRANCHES - 4)]
        # As the branches of tickets are called, one of them of an Issue that is there.
        names += ["1-old-work", "ticket/2", "issue-3", "release-1"]
        emulator.repo(
            "acme",
            "legacy",
            files={"README.md": "old\n"},
            branches={name: {f"{n}.txt": name} for n, name in enumerate(names)},
            collaborators={"wanda": "admin"},
        )
        self.issues = [emulator.issue(REPO, f"Issue {n}", author="wanda", labels=["agent"])["number"] for n in range(3)]
        self.pulls = [self.send("POST", "pulls", head=name, base="main", title=name) for name in names[-PULLS:]]
        for pull in self.pulls[:5]:
            self.send("POST", f"statuses/{pull['head']['sha']}", state="success", context="ci")
        # Nobody listens there: what would be delivered is read from the emulator.
        hook = "http://127.0.0.1:9/webhook"
        emulator.change_app("agent-recovery", webhook_url=hook, webhook_secret="s" * 16, events=EVENTS)
        emulator.app("newcomer", permissions=PERMISSIONS)

    def send(self, method: str, path: str, **body: Any) -> Any:
        return self.http.request(method, f"/repos/{REPO}/{path}", json=body).raise_for_status().json()

    def policy(self, text: str | None) -> None:
        if text is None and self.http.get(f"/repos/{REPO}/contents/{PATH}").status_code == 404:
            return
        self.emulator.commit(REPO, {PATH: text}, branch="main")

    def shown(self) -> dict[str, Any]:
        """All that people see of it."""
        heads = [pull["head"]["sha"] for pull in self.pulls[:8]]
        return {
            "pulls": [(p["number"], p["draft"], p["body"], p["labels"], p["assignees"]) for p in self.listed("pulls")],
            "comments": self.listed("issues/comments"),
            "issues": [(i["number"], i["state"], i["labels"]) for i in self.listed("issues")],
            "refs": [self.listed(f"git/matching-refs/{below}/") for below in ("heads", "agent-recovery")],
            "checks": [self.listed(f"commits/{sha}/check-runs") for sha in heads],
            "statuses": [self.listed(f"commits/{sha}/statuses") for sha in heads],
        }

    def listed(self, path: str) -> Any:
        answer: httpx.Response = self.http.get(f"/repos/{REPO}/{path}?per_page=100").raise_for_status()
        return answer.json()

    def happenings(self) -> list[dict[str, Any]]:
        """What people do and GitHub tells the App of, from its installation on."""
        seen = len(self.emulator.deliveries())
        self.emulator.change_installation(self.installation, suspended=True)
        self.emulator.change_installation(self.installation, suspended=False)
        self.emulator.commit(REPO, {"x": secrets.token_hex(4)}, branch="feature-1")
        self.emulator.commit(REPO, {"y": secrets.token_hex(4)}, branch="ticket/2")
        self.emulator.commit(REPO, {"z": secrets.token_hex(4)}, branch="main")
        number = self.emulator.issue(REPO, "Another", author="wanda", labels=["agent"])["number"]
        self.send("PATCH", f"issues/{number}", title="Another one")
        self.emulator.comment(REPO, self.pulls[0]["number"], "wanda", "/recovery status")
        self.send("PATCH", f"pulls/{self.pulls[1]['number']}", body=f"Ticket: #{self.issues[0]}")
        self.emulator.flush()
        return self.emulator.deliveries()[seen:]


@pytest.fixture(scope="module")
def made(emulator: Emulator, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crowd]:
    made = Crowd(emulator, tmp_path_factory.mktemp("crowd"))
    yield made
    made.http.close()


@pytest.fixture
async def crowd(made: Crowd) -> AsyncIterator[Crowd]:
    yield made
    await made.close_replicas()


async def run(crowd: Crowd, controller: Controller, *, writes: bool = True) -> None:
    """Start up, work off every poke, sweep, and work off what that poked. With writes off no poke is worked off."""
    for _ in range(2):
        await controller.start_up()
        if writes:
            await worked_off(crowd, controller)


async def worked_off(crowd: Crowd, controller: Controller) -> None:
    stop = asyncio.Event()
    working = asyncio.create_task(controller.work(stop))
    async with asyncio.timeout(60):
        while (due := await crowd.pokes.next_due()) is not None:
            if (due.timestamp() - crowd.emulator.now()) > 3:
                break  # a stopped repository's pokes wait
            await asyncio.sleep(0.02)
    stop.set()
    await working


async def claimed(crowd: Crowd, controller: Controller) -> Refused:
    request = ClaimRequest(claim_id=secrets.token_hex(8), observed_generation=0, holder="agent")
    with pytest.raises(Refused) as refused:
        await controller.claim("acme", "legacy", crowd.issues[0], request, "wanda")
    return refused.value


CASES = [
    pytest.param(None, True, (), Code.NO_POLICY, id="no policy"),
    pytest.param("mode: observe\nenroll:\n  label: agent\n  branch: true\n", True, (), Code.MODE_OBSERVE, id="observe"),
    pytest.param("mode: everything\n", True, (), Code.MODE_OBSERVE, id="a broken file over observe"),
    pytest.param("mode: full\nenroll:\n  branch: true\n", False, (), Code.WRITES_OFF, id="writes off"),
    pytest.param("mode: full\nenroll:\n  branch: true\n", True, (REPO,), Code.WRITES_OFF, id="stopped"),
    pytest.param("mode: full\nenroll:\n  branch: true\n", True, ("acme",), Code.WRITES_OFF, id="its account stopped"),
]


@pytest.mark.parametrize(("text", "writes", "stopped", "code"), CASES)
async def test_nothing_is_written_whatever_happens(
    crowd: Crowd, text: str | None, writes: bool, stopped: tuple[str, ...], code: Code
) -> None:
    crowd.policy(text)
    controller = crowd.controller(writes=writes)
    for scope in stopped:
        await crowd.stops.stop(scope, None, by="wanda", reason="x", now=controller._views.now())
    deliveries = crowd.happenings()
    told = {one["event"] for one in deliveries}
    assert {"installation", "push", "issues", "pull_request", "issue_comment"} <= told
    before, since = crowd.shown(), crowd.requested()
    for one in deliveries:
        routed = keys_of(one["event"], one["payload"], own_app_id=crowd.app["id"])
        if isinstance(routed, Poked):
            await crowd.pokes.poke(*routed.keys)
    await run(crowd, controller, writes=writes)
    refused = await claimed(crowd, controller)
    assert (refused.blocked.code, exit_code(refused.blocked.code)) == (code, Exit.GATE_CLOSED)
    assert crowd.writes(since) == []
    assert crowd.shown() == before


async def test_it_would_write_once_it_may(crowd: Crowd) -> None:
    """The counterpart that shows that the counting counts."""
    crowd.policy("mode: repair\n")
    since = crowd.requested()
    await run(crowd, crowd.controller())
    assert any(line == f"POST /repos/{REPO}/check-runs" for line in crowd.writes(since))
