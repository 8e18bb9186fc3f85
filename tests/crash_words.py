"""Stories of what people say in comments, played with every call disturbed, and what is left of them in the end.

A comment is made on GitHub and delivered once: a delivery that finds the process dead is lost, and the comment is found
by the look of the next process that starts, as in production. Every verb has its story.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loop_world import REPO, Agent, LoopWorld, claims_of
from sqlalchemy.exc import OperationalError

from app.controller.controller import Controller
from app.controller.pokes import First
from app.domain.effect_api import EffectDispatch, EffectIntent, EffectOutcome
from app.github.errors import GitHubError
from app.service.events import Poked, keys_of
from app.service.running import ears_of
from tests.crash import MAX_ROUNDS, Disturber, Killed, Play, Story
from tests.crash_end import EndState, end_of
from tests.crash_stories import AT, next_number, published, published_in_full

Scene = Callable[["SpokenPlay"], Awaitable[object]]
MARKER = "<!-- agent-recovery:answer "
ROLES = {"wanda": "write", "maya": "maintain"}


class SpokenPlay(Play):
    """A play in which the service hears comments. Its processes look for lost ones when they start."""

    def __init__(self, world: LoopWorld, disturber: Disturber) -> None:
        self.said: list[int] = []
        self._swept: Controller | None = None
        self.tokens = self._people(world)
        super().__init__(world, disturber)

    def _people(self, world: LoopWorld) -> dict[str, str]:
        """Who says something: their tokens, by login."""
        tokens = {"wanda": world.token, "maya": world.emulator.user("maya")["token"]}
        world.emulator.change_repo(REPO, collaborators=ROLES)
        return tokens

    async def say(self, text: str, who: str = "wanda", on: int | None = None) -> None:
        """Somebody comments, on the ticket's Issue where nothing else is named, and GitHub delivers it, once."""
        number = self.world.ticket if on is None else on
        headers = {"Authorization": f"Bearer {self.tokens[who]}"}
        made = self.world.http.post(f"/repos/{REPO}/issues/{number}/comments", json={"body": text}, headers=headers)
        comment: dict[str, Any] = made.raise_for_status().json()
        self.said.append(int(comment["id"]))
        payload = {
            "action": "created",
            "issue": self.world.get(f"issues/{number}"),
            "comment": comment,
            "sender": comment["user"],
            "repository": {"full_name": REPO, "default_branch": "main"},
        }
        routed = keys_of("issue_comment", payload, own_app_id=self.world.app["id"])
        assert isinstance(routed, Poked)
        try:
            await self.world.pokes.poke(*routed.keys, words=routed.words)
        except Killed:
            self._restart()
        except OperationalError:
            # Answered with 503, and GitHub does not deliver it again by itself: the next look back finds it.
            self._swept = None

    async def settle(self) -> None:
        """Run the loop until nothing more is said, and it waits for nothing."""
        for _ in range(MAX_ROUNDS):
            try:
                await self._look_back()
                await super().settle()
                # A process that died in there left one behind that has not looked back yet.
                if self._swept is self.controller and not await self._hear():
                    return
            except Killed:
                self._restart()
            except (GitHubError, OperationalError):
                self.world.emulator.advance(5)
        raise AssertionError(f"no fixed point after {MAX_ROUNDS} turns")

    async def _look_back(self) -> None:
        """Once for each process: what a service does when it starts."""
        if self._swept is not self.controller:
            await self.controller.start_up()
            self._swept = self.controller

    async def _hear(self) -> bool:
        """Carry out a word that waits, now or later; whether there was one. A worker that died holds its word for a
        while.
        """
        pokes, clock = self.world.pokes, self.world.emulator
        poke = await pokes.take("test", First.WORDS)
        if poke is None:
            due = await pokes.next_due(First.WORDS)
            if due is None:
                return False
            clock.advance(max(due.timestamp() - clock.now(), 0) + 1)
            return True
        await pokes.settle(poke, await self.controller._loop._run(poke))
        return True

    def _start(self) -> Controller:
        controller = super()._start()
        github, database = self.world._opened[-1]
        controller.lend(ears_of(controller, database, self.world.pokes, github.clock.now))
        return controller


@dataclass(frozen=True)
class SpokenEnd:
    """The end of a story with words: each has one answer that says how it ended, and the reactions that go with it."""

    state: EndState
    answers: tuple[tuple[str, ...], ...]
    """For each comment, how its answers ended: always one."""
    reactions: tuple[tuple[str, ...], ...]
    commands: tuple[str, ...]
    """The verbs in the ticket's record."""


async def spoken_end(play: Play, data: Path) -> SpokenEnd:
    """The end of a play of a SpokenPlay; `data` as for `end_of`."""
    assert isinstance(play, SpokenPlay)
    world = play.world
    view = await play.controller._views.look("acme", "shop", world.ticket)
    assert view.standing is not None
    return SpokenEnd(
        state=await end_of(play, data),
        answers=answers_of(play),
        reactions=reactions_of(play),
        commands=tuple(str(c["verb"]) for c in view.standing.record.commands),
    )


def answers_of(play: SpokenPlay) -> tuple[tuple[str, ...], ...]:
    """For each comment, how its answers ended."""
    bodies = [str(c["body"]) for c in play.world.get("issues/comments?per_page=100")]
    ours = [[b for b in bodies if b.startswith(f"{MARKER}{id} -->")] for id in play.said]
    return tuple(tuple(body.split("\n")[1].strip("<!-> ") for body in of_one) for of_one in ours)


def reactions_of(play: SpokenPlay) -> tuple[tuple[str, ...], ...]:
    """For each comment, the App's reactions to it."""
    found = [play.world.get(f"issues/comments/{id}/reactions") for id in play.said]
    return tuple(tuple(sorted(r["content"] for r in of_one if r["user"]["type"] == "Bot")) for of_one in found)


def _saying(
    text: str | Callable[[SpokenPlay], str], who: str = "wanda", *, after: Scene, on_pull: bool = False
) -> Story:
    """A person says one thing, on the ticket's Issue or its PR, once `after` has come to rest."""

    async def story(play: Play) -> None:
        assert isinstance(play, SpokenPlay)
        await after(play)
        await play.settle()
        said = text if isinstance(text, str) else text(play)
        number = _pull(play)["number"] if on_pull else None
        play.begin()
        await play.say(said, who, number)

    return story


def _pull(play: Play) -> dict[str, Any]:
    (pull,) = play.world.get("pulls")
    return dict(pull)


def _head(play: Play) -> str:
    return str(_pull(play)["head"]["sha"])


async def _held(play: SpokenPlay) -> None:
    await published(play)
    await play.say("/recovery hold")


async def _cancelled(play: SpokenPlay) -> None:
    await published(play)
    await play.say("/recovery cancel")


async def _frozen(play: SpokenPlay) -> None:
    agent = await published(play)
    if play.disturber.index is not None:
        play.disturber.index.losing = True
    play.world.git(agent.folder, "push", "-q", "origin", f":{agent.grant.ledger_ref}")


async def _in_full(play: SpokenPlay) -> None:
    await published_in_full(play, "none")


async def _foreign(play: SpokenPlay) -> None:
    agent = await published(play)
    play.world.emulator.commit(REPO, {"foreign.txt": "x"}, branch=agent.grant.branch, author="wanda")


async def _another_trunk(play: SpokenPlay) -> None:
    await published(play)
    play.world.emulator.commit(REPO, {"next.txt": "x"}, branch="release-2")


async def _intended(play: SpokenPlay) -> Agent:
    """An effect that needs a person's leave waits for it."""
    agent = await published(play)
    body = {"key": "intend-prod", "seq": next_number(agent), "effect": "prod", "kind": "deploy.production"}
    intent = EffectIntent.model_validate(body)
    await play.call(lambda c: c.intend_effect(*AT, play.world.ticket, claims_of(agent.grant), intent))
    return agent


async def _unknown(play: SpokenPlay) -> None:
    """An effect was let through, and its holder cannot say how it ended."""
    agent = await _intended(play)
    await play.say("/recovery approve prod", "maya")
    await play.settle()
    place = (*AT, play.world.ticket, claims_of(agent.grant), "prod")
    asked = EffectDispatch(key="dispatch-prod", seq=next_number(agent), attempt="attempt-prod")
    await play.call(lambda c: c.dispatch_effect(*place, asked))
    told = EffectOutcome(key="result-prod", seq=next_number(agent), attempt="attempt-prod", outcome="unknown")
    await play.call(lambda c: c.report_effect(*place, told))


STORIES_OF_WORDS: dict[str, Story] = {
    "say help": _saying("/recovery help", after=published),
    "say status": _saying("/recovery status", after=published),
    "say unknown verb": _saying("/recovery lnad", after=published),
    "say hold": _saying("/recovery hold wait for QA", after=published),
    "say unhold": _saying("/recovery unhold", after=_held),
    "say cancel": _saying("/recovery cancel", after=published),
    "say recover a cancelled one": _saying("/recovery recover", after=_cancelled),
    "say recover a frozen one": _saying("/recovery recover", after=_frozen, on_pull=True),
    "say takeover": _saying("/recovery takeover", after=published),
    "say two commands": _saying("/recovery takeover\n/recovery status", after=published),
    "say retarget": _saying("/recovery retarget release-2", after=_another_trunk),
    "say land": _saying(lambda play: f"/recovery land {_head(play)}", after=_in_full, on_pull=True),
    "say accept": _saying(lambda play: f"/recovery accept {_head(play)}", after=_foreign, on_pull=True),
    "say approve": _saying("/recovery approve prod", "maya", after=_intended),
    "say deny": _saying("/recovery deny prod", after=_intended),
    "say resolve": _saying("/recovery resolve prod done", after=_unknown),
}
