"""People who say things in the loop's world: their comments go to the real webhook endpoint; a test turns the loop."""

import hashlib
import hmac
import json
import secrets
from pathlib import Path
from typing import Any

import httpx
from landing_world import Landing
from loop_world import REPO, LoopWorld

from app.controller.controller import Controller
from app.controller.pokes import First, PokeStore
from app.emulator.client import Emulator
from app.service.app import create_app
from app.service.callers import Callers
from app.service.github_watch import GitHubWatch
from app.service.intake import WebhookIntake
from app.service.keys import parse_secrets
from app.service.running import Parts, ears_of
from app.service.settings import Settings

MARKER = "<!-- agent-recovery:answer "
POLICY = "version: 1\nmode: {mode}\ntrunks: [release-*]\nlanding:\n  checks: none\n  unguarded_base: accept\n"
POLICY_FILE = ".github/agent-recovery.yml"


class Replica:
    """One service: its database, its controller with ears, its webhook. Its loop stands still: a test turns it."""

    def __init__(self, world: "SpokenWorld", file: Path, transport: httpx.AsyncBaseTransport | None) -> None:
        self.world, self.file = world, file
        self.controller: Controller = world.controller(database_file=file, transport=transport)
        self.github, self.database = world._opened[-1]
        self.pokes: PokeStore = world.pokes
        self.ears = ears_of(self.controller, self.database, self.pokes, self.github.clock.now)
        self.controller.lend(self.ears)
        secret = world.key_settings["AGENT_RECOVERY_WEBHOOK_SECRET"]
        settings = Settings(
            app_id=world.app["id"],
            app_private_key=world.app["pem"],
            webhook_secret=secret,
            seal_keys=world.key_settings["AGENT_RECOVERY_SEAL_KEYS"],
            lease_keys=world.key_settings["AGENT_RECOVERY_LEASE_KEYS"],
            database_url=f"sqlite:///{file}",
        )
        app = create_app(settings)
        app.state.running = _Standing(self._parts(settings, world))
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service")

    def _parts(self, settings: Settings, world: "SpokenWorld") -> Parts:
        return Parts(
            settings=settings,
            database=self.database,
            pokes=self.pokes,
            github=self.github,
            keyring=world.keys,
            loop=self.controller,
            callers=Callers(self.github, world.keys.lease_keys),
            intake=WebhookIntake(
                parse_secrets(settings.webhook_secret.get_secret_value()), self.pokes, own_app_id=settings.app_id
            ),
            watch=GitHubWatch(self.github, self.github.clock.now),
            boot_id="boot",
            stops=world.stops,
        )

    async def waiting(self) -> list[str]:
        """Takes every word that is due; their keys, and none of them is heard."""
        keys = []
        while (poke := await self.pokes.take("test", First.WORDS)) is not None:
            keys.append(poke.key)
        return keys

    async def hear(self, at_most: int = 30) -> list[str]:
        """Hear all words that are due, as the loop does; how each ended."""
        loop, heard = self.controller._loop, []
        for _ in range(at_most):
            poke = await self.pokes.take("test", First.WORDS)
            if poke is None:
                break
            again_at = await loop._run(poke)
            await self.pokes.settle(poke, again_at)
            heard.append(f"{poke.key} {'later' if again_at else 'over'}")
        return heard

    async def later(self, seconds: float) -> None:
        """Time goes by, and the service learns of it as it does: from an answer of GitHub's."""
        self.world.emulator.advance(seconds)
        await self.github.installations()


class _Standing:
    """Stands for the running service: its parts are there, its loop is not."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts


class SpokenWorld(LoopWorld):
    """`say` writes a comment and delivers it. wanda may write, rita read, tom triage, nobody knows sam."""

    def __init__(self, emulator: Emulator, folder: Path, mode: str = "full") -> None:
        super().__init__(emulator, folder)
        self.tokens = {"wanda": self.token, **{who: emulator.user(who)["token"] for who in ("rita", "tom", "sam")}}
        self.roles = {"wanda": "write", "rita": "read", "tom": "triage"}
        emulator.change_repo(REPO, collaborators=self.roles)
        self.policy(mode)
        self.replicas: list[Replica] = []

    def policy(self, mode: str) -> None:
        self.emulator.commit(REPO, {POLICY_FILE: POLICY.format(mode=mode)}, branch="main")

    def replica(self, file: Path | None = None, transport: httpx.AsyncBaseTransport | None = None) -> Replica:
        """A service; with a database of its own, unless another one's file is named."""
        self.replicas.append(Replica(self, file or self.folder / f"{secrets.token_hex(4)}.db", transport))
        return self.replicas[-1]

    def role(self, who: str, role: str | None) -> None:
        """Give somebody another role, or none."""
        self.roles = {**{k: v for k, v in self.roles.items() if k != who}, **({who: role} if role else {})}
        self.emulator.change_repo(REPO, collaborators=self.roles)

    async def close(self) -> None:
        for replica in self.replicas:
            await replica.http.aclose()
        await super().close()

    # ---- what people do

    def ask(self, who: str, method: str, path: str, **fields: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.tokens[who]}"}
        answer = self.http.request(method, f"/repos/{REPO}/{path}", json=fields, headers=headers)
        return answer.raise_for_status().json() if answer.content else None

    def comment(self, number: int, text: str, by: str = "wanda") -> dict[str, Any]:
        made: dict[str, Any] = self.ask(by, "POST", f"issues/{number}/comments", body=text)
        return made

    def payload(self, number: int, comment: dict[str, Any], action: str = "created", **more: Any) -> dict[str, Any]:
        """What GitHub delivers about a comment."""
        return {
            "action": action,
            "issue": self.get(f"issues/{number}"),
            "comment": comment,
            "sender": comment["user"],
            "repository": {"full_name": REPO, "default_branch": "main"},
            **more,
        }

    async def deliver(self, replica: Replica, event: str, payload: dict[str, Any]) -> dict[str, Any]:
        """Post to the webhook, signed, under a new delivery id."""
        body = json.dumps(payload).encode()
        secret = self.key_settings["AGENT_RECOVERY_WEBHOOK_SECRET"].encode()
        headers = {
            "content-type": "application/json",
            "x-github-event": event,
            "x-github-delivery": secrets.token_hex(8),
            "x-hub-signature-256": "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest(),
        }
        answer = await replica.http.post("/webhook", content=body, headers=headers)
        assert answer.status_code == 202, answer.text
        return dict(answer.json())

    async def say(self, replica: Replica, number: int, text: str, by: str = "wanda") -> int:
        """Comment, deliver, hear; the comment's id."""
        comment = self.comment(number, text, by)
        await self.deliver(replica, "issue_comment", self.payload(number, comment))
        await replica.hear()
        return int(comment["id"])

    # ---- what is seen

    def answers(self, number: int, comment: int | str) -> list[str]:
        """The answers to one comment, the oldest first."""
        return [c["body"] for c in self.comments(number, f"{MARKER}{comment} -->")]

    def answer(self, number: int, comment: int | str) -> str:
        (only,) = self.answers(number, comment)
        return only

    def reactions(self, comment: int) -> list[str]:
        """Ours on a comment, in the order in which they were given."""
        found = self.get(f"issues/comments/{comment}/reactions")
        return [r["content"] for r in found if r["user"]["type"] == "Bot"]


async def ticket(world: SpokenWorld, replica: Replica, *, ready: bool = False) -> Landing:
    """A ticket of the world with published work, its PR shown."""
    begin = Landing.ready if ready else Landing.begun
    made = await begin(world, POLICY.format(mode="full"), replica.controller)
    # What is said in the second of a push may have been said before it.
    world.emulator.advance(2)
    return made
