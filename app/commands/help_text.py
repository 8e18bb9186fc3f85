"""The list of verbs, as `/recovery help` shows it and as docs/commands.md holds it."""

from collections.abc import Sequence

from app.commands.verb import OnReleases, Permission, Verb

WHO = {
    Permission.READ: "read",
    Permission.TRIAGE: "triage",
    Permission.WRITE: "write",
    Permission.MAINTAIN: "maintain",
    Permission.AUTHORIZER: "as `release.authorizers` says",
}


def table(verbs: Sequence[Verb]) -> str:
    """A line for each verb: what is written, what becomes of it, and who may."""
    rows = [f"| `/recovery {_cell(verb.usage)}` | {_cell(verb.help)} | {_who(verb)} |" for verb in verbs]
    return "\n".join(("| command | what it does | needs |", "|---|---|---|", *rows))


def details(verbs: Sequence[Verb]) -> str:
    """The same with where each can be said, what must be so, and which are carried out late."""
    rows = [
        f"| `/recovery {_cell(verb.usage)}` | {_cell(verb.help)} | {_who(verb)} | {_where(verb)} "
        f"| {_cell(verb.needs) or '–'} | {'72 h' if verb.late_ok else '24 h'} |"
        for verb in verbs
    ]
    head = "| command | what it does | permission | said on | carried out where | heard for |"
    return "\n".join((head, "|---|---|---|---|---|---|", *rows))


def _who(verb: Verb) -> str:
    more = f"; {WHO[verb.permission_on_releases]} on a release" if isinstance(verb, OnReleases) else ""
    return f"{WHO[verb.permission]}{more}"


def _where(verb: Verb) -> str:
    places = {"ticket": "a ticket's Issue or PR", "release": "a release PR"}
    return ", ".join(words for place, words in places.items() if place in verb.works_on)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
