"""All verbs, and what is said where one is none or is said in the wrong place."""

import difflib

from app.commands.grammar import HELP
from app.commands.verb import ON_RELEASES, ON_TICKETS, Place, Said, Verb
from app.commands.verbs import (
    accept,
    approve,
    authorize_release,
    cancel,
    deny,
    hold,
    land,
    merge_release,
    recover,
    resolve,
    retarget,
    revoke_release,
    status,
    takeover,
    unhold,
)
from app.commands.verbs.help import Help
from app.domain.outcome import Blocked, Code

VERBS: tuple[Verb, ...] = (
    Help(lambda: VERBS),
    *(status.VERB, recover.VERB, takeover.VERB, hold.VERB, unhold.VERB, cancel.VERB),
    *(land.VERB, retarget.VERB, accept.VERB, approve.VERB, deny.VERB, resolve.VERB),
    *(authorize_release.VERB, revoke_release.VERB, merge_release.VERB),
)

_BY_NAME = {verb.name: verb for verb in VERBS}


def find(name: str) -> Verb | None:
    """The verb of this name, in lower case."""
    return _BY_NAME.get(name)


def unknown(name: str) -> Blocked:
    """Why a verb that is none was not carried out, with the nearest that there is. `name` as the grammar gives it."""
    begun = [verb for verb in _BY_NAME if verb.startswith(f"{name}-")]
    near = begun or difflib.get_close_matches(name, _BY_NAME, n=1, cutoff=0.5)
    meant = f"did you mean `/recovery {near[0]}`? Say it in a new comment; " if near else ""
    return Blocked(Code.USAGE, f"there is no command `/recovery {name}`", f"{meant}`/recovery help` shows all of them")


def misplaced(verb: Verb, said: Said, neither: str = "") -> Blocked | None:
    """Why a verb cannot be said where it was said; None where it can. `neither`: why that is no ticket and no release,
    where it is none.
    """
    here: frozenset[Place] = frozenset()
    here |= ON_TICKETS if said.ticket is not None else here
    here |= ON_RELEASES if said.release is not None else here
    if here & verb.works_on or verb.name == HELP:
        return None
    if not here:
        neither = neither or "this is neither a ticket of Agent Recovery nor the PR of a release"
        return Blocked(
            Code.NOT_A_TICKET, neither, "say it on the Issue or PR of the ticket; `/recovery help` shows what there is"
        )
    if verb.works_on == ON_RELEASES:
        return Blocked(Code.USAGE, "this is a ticket, not a release", f"say `/recovery {verb.name}` on the release PR")
    reason = "this is the PR of a release, which is no ticket"
    return Blocked(Code.USAGE, reason, f"say `/recovery {verb.name}` on the Issue or PR of the ticket")
