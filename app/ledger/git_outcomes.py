"""What a holder's look at its ledger, and its fenced push, can come to: values with reasons."""

from dataclasses import dataclass

from app.ledger.codec import Entry
from app.ledger.git_program import Fault


@dataclass(frozen=True)
class Gone:
    """The ledger does not stand under `active/`: the ticket ended, or was never claimed. `head`: where its ledger
    stands under `done/`.
    """

    reason: str
    head: str | None = None


@dataclass(frozen=True)
class Seen:
    """One look at the remote: the ledger's commits, newest first, down to the last service seal; unverified.
    `branch`: the head of the ticket branch, None where it does not exist or was not asked for.
    """

    entries: tuple[Entry, ...]
    branch: str | None


@dataclass(frozen=True)
class Pushed:
    """Branch and ledger moved together."""

    ledger_commit: str
    code_sha: str


@dataclass(frozen=True)
class FencedOut:
    """The lease is not the ticket's any more; who holds it now, where somebody does."""

    reason: str
    holder: str | None = None
    generation: int | None = None


@dataclass(frozen=True)
class OnHold:
    """A person put the ticket on hold: the lease stands, and the same push passes once it is off hold."""

    reason: str
    generation: int


@dataclass(frozen=True)
class Withdrawn:
    """The service withdrew `on`, which the work builds on, by the empty commit `fence` above it, so that a merge under
    way cannot happen. Once the work contains that commit it can be pushed.
    """

    fence: str
    on: str


@dataclass(frozen=True)
class Foreign:
    """The branch stands at `head`, which was not pushed under this ledger. `commits`: (SHA, subject, author) of what
    is there and not in the work to be pushed; subject and author are strangers' text. Empty where the branch was only
    put back to an older commit.
    """

    head: str
    commits: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class LostRace:
    """Others kept writing; the generation is still ours and the same push may be tried again."""

    reason: str


@dataclass(frozen=True)
class Refused:
    """The push cannot be made as it is, or the remote refuses it."""

    reason: str


@dataclass(frozen=True)
class Unheard(Refused):
    """The remote did not answer. Pushing again finds out what became of the push."""


@dataclass(frozen=True)
class Declined(Refused):
    """The remote, or git on this machine, says no, and will again until somebody mends it: `fault` says what kind of
    no, `reason` has git's own words. `in_the_way`: the branch that leaves no room for the ticket's.
    """

    fault: Fault
    in_the_way: str | None = None


@dataclass(frozen=True)
class Distrusted(Refused):
    """The ledger on the remote is damaged or forged, or a newer version wrote it: nothing is built on it."""


@dataclass(frozen=True)
class Outnumbered(Refused):
    """The request is new and its number is not: the ledger knows one of this lease up to `highest` (R16)."""

    highest: int


@dataclass(frozen=True)
class KeyUsed(Refused):
    """The request's key was used before to ask for something else than a push; nothing was pushed (R16)."""


NotPushed = FencedOut | OnHold | Withdrawn | Foreign | LostRace | Refused
