"""The words after a verb: which ticket, which commit, which effect; and the refusals of what is none."""

import re
from typing import NoReturn

from app.commands.verb import Said
from app.domain.effect import EFFECT_KEY
from app.domain.outcome import Blocked, Code, Refused
from app.domain.ticket_id import TicketId, number_of, ticket_id

_TICKET = re.compile(r"#(?P<numbered>[1-9][0-9]{0,9}(?:\.[a-z0-9-]+)?)|(?P<child>[1-9][0-9]{0,9}\.[a-z0-9-]+)")
_SHA = re.compile(r"[0-9a-f]{40}")
_BRANCH = re.compile(r"(?!-)[^\x00-\x20\x7f~^:?*\[\\]{1,244}")


def ticket_and_words(said: Said, *, at_least: int = 0) -> tuple[TicketId, tuple[str, ...]]:
    """The ticket that a command is about, and its other words. A first word like `#42` or `42.docs-1` names the ticket
    or a child of it, where `at_least` words are left then. Raises Refused where it names another ticket.
    """
    own, words = _own(said), said.command.args
    if not words or len(words) <= at_least or (found := _TICKET.fullmatch(words[0])) is None:
        return own, words
    named = ticket_id(found["numbered"] or found["child"])
    if named is None or number_of(named) != number_of(own):
        refuse(f"this is said on #{number_of(own)}, and names another ticket", "say it on that ticket's Issue or PR")
    return named, words[1:]


def ticket_and_text(said: Said) -> tuple[TicketId, str | None]:
    """The ticket that a command is about, and the free text after it. Only the ticket itself or a child of it is taken
    for more than text.
    """
    own, words = _own(said), said.command.args
    found = _TICKET.fullmatch(words[0]) if words else None
    named = ticket_id(found["numbered"] or found["child"]) if found is not None else None
    if named is None or number_of(named) != number_of(own):
        return own, said.command.rest or None
    return named, said.command.rest[len(words[0]) :].strip(" \t") or None


def no_words(words: tuple[str, ...], verb: str) -> None:
    """Raises Refused where there are words that the verb does not take: what they were to mean is not guessed."""
    if words:
        refuse(f"`/recovery {verb}` takes no words after it", f"write `/recovery {verb}` alone on its line")


def as_whole_sha(words: tuple[str, ...]) -> str | None:
    """The one commit that words name by all its characters; None where they do anything else."""
    return words[0].lower() if len(words) == 1 and _SHA.fullmatch(words[0].lower()) else None


def effect_key(word: str) -> str:
    """The key of an effect. Raises Refused."""
    if re.fullmatch(EFFECT_KEY, word) is None:
        refuse("that is no effect's key", "`/recovery status` shows the effects that wait for a person")
    return word


def branch_name(word: str) -> str:
    """The name of a branch. Raises Refused."""
    if _BRANCH.fullmatch(word) is None:
        refuse("that is no branch's name", "name a branch that trunks in .github/agent-recovery.yml match")
    return word


def refuse(reason: str, remedy: str, code: Code = Code.USAGE) -> NoReturn:
    """Raises Refused."""
    raise Refused(Blocked(code, reason, remedy))


def _own(said: Said) -> TicketId:
    if said.ticket is None:
        refuse("this is no ticket's Issue or PR", "say it on the Issue of the ticket", Code.NOT_A_TICKET)
    return said.ticket
