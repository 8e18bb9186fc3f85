"""One thing that a person said, from its receipt to its answer.

Wanted: it is seen to be heard before anything else is read; who may is asked of GitHub; every command has one effect
and every comment one answer, however often it is delivered, retried or found again, by however many of us. What makes
that so is not kept here: the ticket's or release's record knows what was carried out (the ownership protocol, R16), and
the answer itself, or the reaction that follows it, says that it was answered. Losing the database loses neither.

Where nothing may be written (no policy, mode observe, a stop) nothing is, not even a reaction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog

from app.commands.answers import Answers, Result
from app.commands.asking import Asked, Doing, not_permitted
from app.commands.buttons import Click, click_of, out_of_date
from app.commands.flood import WITHIN, Admitted, Flood
from app.commands.grammar import MOST_COMMANDS, Command, commands_in
from app.commands.in_order import InOrder
from app.commands.lost_words import HEARD_FOR, LostWords
from app.commands.registry import find, misplaced, unknown
from app.commands.telling import fitted, refusal, sentence
from app.commands.verb import Said, Verb, permission_on
from app.controller.clock import Clock
from app.controller.said_on import Meant, SaidOn, SaidOns
from app.controller.turn import Ended
from app.controller.words import OVER, Kept, WordState, WordStore
from app.domain.authorization import digest_of
from app.domain.keys import WordKey
from app.domain.model import instant_text
from app.domain.outcome import Blocked, Code, Refused
from app.domain.permission import Role
from app.domain.release_record import Person, Source
from app.domain.ticket_id import number_of
from app.github.errors import Forbidden, Suspended, Unanswered, Validation
from app.github.reactions import NotReacted
from app.github.repository import Repository

SOON = timedelta(hours=24)
"""After this long only what stops something or shows something is carried out."""
TRIED_FOR = timedelta(hours=1)
"""How long the outcome of a command is looked for before its answer says that it is not known."""
AGAIN_AFTER = timedelta(seconds=10)
ANSWER = 60_000
"""Characters of what an answer tells. GitHub takes no comment of more than 65,536."""
DOUBLES_AFTER = timedelta(minutes=1)
"""When an answer whose writing was not heard of is looked at once more."""

_NOT_YET = frozenset({Code.UNKNOWN_OUTCOME, Code.LANDING_UNRESOLVED, Code.LOST_RACE, Code.UNAVAILABLE})
_AGAIN = "say it again in a new comment"

log = structlog.get_logger()


@dataclass(frozen=True)
class _Word:
    """What is heard: the id of the word, its commands with their verbs, and from where it came."""

    key: WordKey
    kept: Kept
    commands: tuple[tuple[Command, Verb | None], ...]
    none_because: str | None = None
    click: Click | None = None

    @property
    def id(self) -> str:
        """A comment's number, or the button's name: what records and answers know it by."""
        return str(self.key.comment_id) if self.key.comment_id is not None else self.key.said

    @property
    def weight(self) -> int:
        """How much it makes us do."""
        return len(self.commands) if self.none_because is None else 1

    @property
    def person(self) -> Person:
        return Person(login=self.kept.author_login, id=self.kept.author_id)


@dataclass(frozen=True)
class _Outcome:
    """How one command ended."""

    command: Command
    result: Result
    markdown: str


class Hearing:
    """Hears words. Plugged into the loop by whoever runs the service."""

    def __init__(
        self, doing: Doing, places: SaidOns, words: WordStore, flood: Flood, lost: LostWords, clock: Clock
    ) -> None:
        self._doing = doing
        self._places = places
        self._words = words
        self._flood = flood
        self._lost = lost
        self._clock = clock
        self._in_order = InOrder(words)
        self._doubtful: set[str] = set()

    async def listen_back(self, repo: Repository) -> int:
        """Poke what was said in a repository and never delivered; how much. Raises GitHubError."""
        return await self._lost.listen_back(repo)

    async def hear(self, key: WordKey) -> Ended:
        """Carry out one thing that a person said, and answer it. Raises GitHubError, and Refused where nothing may be
        written now.
        """
        kept = await self._words.find(str(key))
        if kept is None or kept.state in OVER:
            return Ended(None, "nothing is left to do about it")
        word = _read(key, kept)
        if word is None:
            return await self._over(word, key, "it holds no command")
        admitted = await self._flood.admit(key, kept, word.weight)
        if admitted.state in OVER:
            return Ended(None, "one of too many; the person was told")
        owner, _, name = key.repository.partition("/")
        on = await self._places.look(owner, name, kept.number)
        if on.is_silent:
            return await self._over(word, key, "nothing is written in this repository")
        if on.seen.now - kept.created_at > HEARD_FOR:
            return await self._over(word, key, "it is too old to be heard at all")
        if not await self._seen(word, on):
            return await self._over(word, key, "the comment is gone")
        answers = Answers(on.repo)
        standing = await answers.find(kept.number, word.id)
        if standing is not None and standing.result is not Result.OPEN:
            return await self._end(word, on, standing.result, "it was answered")
        if standing is None and await self._was_answered(word, on):
            return await self._over(word, key, "it was answered, and somebody removed the answer")
        if admitted.state is WordState.NOTICE:
            outcomes: Sequence[_Outcome] = [_too_many(word, admitted)]
        else:
            outcomes = await self._carry_out(word, on)
        result = _together(outcomes)
        try:
            await answers.put(kept.number, word.id, result, _text(word, outcomes))
        except Unanswered as lost:
            self._doubtful.add(str(key))
            return Ended(self._clock() + AGAIN_AFTER, f"whether the answer stands is not known: {lost}")
        except (Forbidden, Validation) as refused:
            if isinstance(refused, Suspended):
                raise
            # A locked conversation, an Issue that is gone: the reaction is all that can be said.
            log.info("no answer possible", key=str(key), refused=str(refused))
        if result is Result.OPEN:
            return Ended(self._clock() + AGAIN_AFTER, "how it ended is not known yet")
        return await self._end(word, on, result, f"heard: {result}")

    async def _seen(self, word: _Word, on: SaidOn) -> bool:
        """Show that the comment was heard. False where it is gone: whoever removed it took it back."""
        comment = word.key.comment_id
        if comment is None:
            return True
        reacted = await on.repo.react(comment, "eyes")
        return not (isinstance(reacted, NotReacted) and reacted.gone)

    async def _was_answered(self, word: _Word, on: SaidOn) -> bool:
        if not word.kept.node_id:
            return False
        return bool(await on.repo.own_reactions(word.kept.node_id) & {"rocket", "confused"})

    async def _end(self, word: _Word, on: SaidOn, result: Result, reason: str) -> Ended:
        comment = word.key.comment_id
        if comment is not None:
            await on.repo.react(comment, "rocket" if result is Result.DONE else "confused")
        if str(word.key) in self._doubtful:
            self._doubtful.discard(str(word.key))
            return Ended(self._clock() + DOUBLES_AFTER, f"{reason}; a copy of the answer may still come")
        return await self._over(word, word.key, reason)

    async def _over(self, word: _Word | None, key: WordKey, reason: str) -> Ended:
        await self._words.end(str(key))
        said = [command.verb for command, _ in word.commands[:MOST_COMMANDS]] if word is not None else []
        log.info("word over", key=str(key), said=said, reason=reason)
        return Ended(None, reason)

    async def _carry_out(self, word: _Word, on: SaidOn) -> list[_Outcome]:
        if word.none_because is not None:
            return [_Outcome(word.commands[0][0], Result.REFUSED, sentence(word.none_because))]
        meant = await self._meant(word, on)
        head = word.kept.head_sha
        if head is None and meant.pull is not None and word.click is None:
            head = await self._places.head_when_said(on, meant.pull, word.kept.created_at)
            if head is not None:
                # First of all, and once: a retry binds to the head that its author saw, not to the one it finds.
                await self._words.note_head(str(word.key), head)
        await self._in_order.wait(word.key, word.kept, self._doubtful)
        role = await on.repo.role_of(word.kept.author_login)
        outcomes: list[_Outcome] = []
        for number, (command, verb) in enumerate(word.commands, 1):
            if verb is None:
                outcomes.append(_Outcome(command, Result.REFUSED, refusal(unknown(command.verb))))
                continue
            said = _said(word, on, meant, command, number, head)
            blocked = misplaced(verb, said, meant.reason) or _too_old(word, on, verb)
            outcomes.append(await self._one(word, on, said, verb, role, blocked))
        return outcomes

    async def _meant(self, word: _Word, on: SaidOn) -> Meant:
        return Meant(ticket=word.click.shown.ticket) if word.click is not None else await self._places.meant(on)

    async def _one(
        self, word: _Word, on: SaidOn, said: Said, verb: Verb, role: Role, blocked: Blocked | None
    ) -> _Outcome:
        command = said.command
        blocked = blocked or await self._out_of_date(word, on)
        if blocked is not None:
            return _Outcome(command, Result.REFUSED, refusal(blocked))
        needs = permission_on(verb, "ticket" if said.release is None else "release")
        first = not_permitted(role, word.person, verb.name, needs)
        act = Asked(self._doing, on.repo, word.person, verb.name, needs, first)
        try:
            answered = await verb.carry_out(said, act)
            if act.first is not None:
                raise Refused(act.first)
        except Refused as refused:
            why = refused.blocked
            if why.code is Code.WRITES_OFF:
                raise
            late = self._clock() - word.kept.received_at > TRIED_FOR
            is_open = why.retryable and why.code in _NOT_YET and not late
            return _Outcome(command, Result.OPEN if is_open else Result.REFUSED, refusal(why))
        except (Forbidden, Validation) as refused:
            if isinstance(refused, Suspended):
                raise
            return _Outcome(command, Result.REFUSED, sentence(f"GitHub refuses it: {refused.message}"))
        return _Outcome(command, Result.DONE, answered.markdown)

    async def _out_of_date(self, word: _Word, on: SaidOn) -> Blocked | None:
        if word.click is None:
            return None
        return out_of_date(word.click, await self._places.generation(on, word.click.shown.ticket))


def _read(key: WordKey, kept: Kept) -> _Word | None:
    """The word with its commands; None where it holds none."""
    if key.comment_id is None:
        click = click_of(key, kept)
        return _Word(key, kept, ((click.command, click.verb),), click=click) if click is not None else None
    parsed = commands_in(kept.text)
    if not parsed.commands:
        return None
    return _Word(key, kept, tuple((c, find(c.verb)) for c in parsed.commands), parsed.none_because)


def _said(word: _Word, on: SaidOn, meant: Meant, command: Command, number: int, head: str | None) -> Said:
    comment, kept = word.key.comment_id, word.kept
    source = None
    if comment is not None:
        source = Source(
            comment_id=comment, number=kept.number, created_at=kept.created_at, body_digest=digest_of(kept.text)
        )
    return Said(
        id=word.id if number == 1 else f"{word.id}.{number}",
        by=word.person,
        at=kept.created_at,
        owner=on.repo.owner,
        name=on.repo.name,
        number=kept.number,
        command=command,
        head_sha=head,
        ticket=meant.ticket,
        release=meant.release,
        source=source,
    )


def _too_old(word: _Word, on: SaidOn, verb: Verb) -> Blocked | None:
    # By GitHub's clock at both ends: one that is wrong here neither carries out what is old nor refuses what is new.
    if verb.late_ok or on.seen.now - word.kept.created_at <= SOON:
        return None
    return Blocked(Code.TOO_OLD, f"`/recovery {verb.name}` was said more than 24 hours ago: too old", _AGAIN)


def _too_many(word: _Word, admitted: Admitted) -> _Outcome:
    minutes = int(WITHIN.total_seconds() // 60)
    text = (
        f"{word.kept.author_login} said more here within {minutes} minutes than is heard of one person. This and what "
        f"follows until {instant_text(admitted.until)} is not carried out and not answered. Say it again after that."
    )
    return _Outcome(word.commands[0][0], Result.REFUSED, sentence(text))


def _together(outcomes: Sequence[_Outcome]) -> Result:
    results = {outcome.result for outcome in outcomes}
    if Result.OPEN in results:
        return Result.OPEN
    return Result.REFUSED if Result.REFUSED in results else Result.DONE


_HEADS = {Result.DONE: "done", Result.REFUSED: "not done", Result.OPEN: "not known yet; this answer will say it"}


def _text(word: _Word, outcomes: Sequence[_Outcome]) -> str:
    """All that was said, in order, each with how it ended."""
    if word.click is not None:
        said = f"the button “{word.click.label}” of ticket #{number_of(word.click.shown.ticket)}"
    else:
        said = ""
    parts: list[str] = []
    room = ANSWER // len(outcomes)
    for outcome in outcomes:
        what = said or f"`/recovery {outcome.command.verb}`"
        parts.append(f"{what[:1].upper()}{what[1:]}: {_HEADS[outcome.result]}.\n\n{fitted(outcome.markdown, room)}")
    by = sentence(f"said by {word.kept.author_login} at {instant_text(word.kept.created_at)}")
    return "\n\n---\n\n".join(parts) + f"\n\n<sub>{by}</sub>"
