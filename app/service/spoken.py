"""What a person says in a delivery: a comment that may hold commands, or a click on a button. Pure, and never raises.

Only what a person wrote or clicked counts: no bot, no App on a person's behalf, nothing that was edited later. What is
kept here is read again and judged when its turn comes; this only leaves out what is certainly no word.
"""

import hashlib
from collections.abc import Mapping
from datetime import datetime

from app.controller.words import Spoken, may_hold_command, storable
from app.domain.buttons import button
from app.domain.external_id import parse
from app.domain.keys import WordKey, is_number, is_repository_name
from app.domain.ticket_id import number_of
from app.github.access import CHECK_NAME

_LARGEST_ID = 10**18
_YEARS = range(2000, 3000)
_NOTHING: Mapping[str, object] = {}


def spoken_in(event: str, payload: object, *, own_app_id: int) -> Spoken | None:
    """The word of a delivery, by the value of `X-GitHub-Event` and its decoded body; None where there is none."""
    if not isinstance(payload, Mapping):
        return None
    repository = _part(payload, "repository").get("full_name")
    if not is_repository_name(repository):
        return None
    if event == "issue_comment":
        return _comment(payload, str(repository))
    if event == "check_run":
        return _click(payload, str(repository), own_app_id)
    return None


def _comment(payload: Mapping[str, object], repository: str) -> Spoken | None:
    comment, author = _part(payload, "comment"), _person(_part(payload, "comment"), "user")
    id, number = comment.get("id"), _part(payload, "issue").get("number")
    written = _moment(comment.get("created_at"))
    text = _text(comment, "body")
    if payload.get("action") != "created" or not may_hold_command(text):
        return None
    if author is None or author != _person(payload, "sender") or comment.get("performed_via_github_app") is not None:
        return None
    if not _is_id(id) or not is_number(number) or written is None:
        return None
    return Spoken(
        key=str(WordKey(repository, f"comment-{id}")),
        text=storable(text),
        number=int(str(number)),
        author_id=author[0],
        author_login=author[1],
        created_at=written,
        node_id=_text(comment, "node_id")[:200],
    )


def _click(payload: Mapping[str, object], repository: str, own_app_id: int) -> Spoken | None:
    run, clicked = _part(payload, "check_run"), button(_text(_part(payload, "requested_action"), "identifier"))
    person, id = _person(payload, "sender"), run.get("id")
    if payload.get("action") != "requested_action" or clicked is None or person is None or not _is_id(id):
        return None
    if _part(run, "app").get("id") != own_app_id or run.get("name") != CHECK_NAME:
        return None
    shown = _text(run, "external_id")[:1000]
    of = parse(shown)
    if not of or not is_number(number_of(of[0].ticket)):
        return None
    # Who clicks twice on the same state said it once; what was done about it changes the state, and so the key.
    digest = hashlib.sha256(f"{shown} {person[0]}".encode("utf-8", "replace")).hexdigest()[:12]
    return Spoken(
        key=str(WordKey(repository, f"button-{id}.{clicked.identifier}.{digest}")),
        text=storable(shown),
        number=_pull_of(run, repository) or number_of(of[0].ticket),
        author_id=person[0],
        author_login=person[1],
        created_at=None,
    )


def _pull_of(run: Mapping[str, object], repository: str) -> int | None:
    """The one pull request that the run stands on, where GitHub names it."""
    listed = run.get("pull_requests")
    pulls = [pull for pull in listed if isinstance(pull, Mapping)] if isinstance(listed, list) else []
    numbers = [pull.get("number") for pull in pulls]
    return int(str(numbers[0])) if len(numbers) == 1 and is_number(numbers[0]) else None


def _person(of: Mapping[str, object], name: str) -> tuple[int, str] | None:
    account = _part(of, name)
    id, login = account.get("id"), _text(account, "login")
    if account.get("type") != "User" or not _is_id(id) or not login or len(login) > 100:
        return None
    return int(str(id)), storable(login)


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < _LARGEST_ID


def _moment(value: object) -> datetime | None:
    if not isinstance(value, str) or len(value) > 40:
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    # At either end of the calendar no more could be counted with it.
    return moment if moment.tzinfo is not None and moment.year in _YEARS else None


def _part(of: Mapping[str, object], name: str) -> Mapping[str, object]:
    value = of.get(name)
    return value if isinstance(value, Mapping) else _NOTHING


def _text(of: Mapping[str, object], name: str) -> str:
    value = of.get(name)
    return value if isinstance(value, str) else ""
