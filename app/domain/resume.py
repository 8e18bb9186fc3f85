"""Whether a workspace that stands may go on: its head compared with what the ledger says is published and with what
the remote shows now.

Equal: go on. Remote ahead: fast-forward first. Apart: stop, keep both, ask a person. Gone: offer to put the published
commit back, which the ledger's second parents keep reachable. Nothing here moves a branch; a push moves the remote's
only from exactly what was compared (the ownership protocol, R14).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Heads:
    """`local`: the ticket branch in this workspace; `published`: the ledger's word, None before the first push;
    `remote`: the branch on the remote, None where it does not stand. `a_has_b`: `b` is `a` or in its history; False
    where one of them is None.
    """

    local: str
    published: str | None
    remote: str | None
    local_has_remote: bool = False
    remote_has_local: bool = False
    remote_has_published: bool = False


@dataclass(frozen=True)
class GoOn:
    """Nothing on the remote is missing here. `ahead`: this workspace has commits the remote has not."""

    reason: str
    ahead: bool = False


@dataclass(frozen=True)
class FastForward:
    """The remote has more, all of it published under this ledger, and nothing here is missing there."""

    to: str
    reason: str


@dataclass(frozen=True)
class ForeignHead:
    """Commits stand on the remote that nobody published under this ledger: the holder adopts them or puts them back."""

    remote: str
    reason: str


@dataclass(frozen=True)
class Apart:
    """Both sides have commits the other has not. Nothing is pushed; both heads are kept; a person decides."""

    local: str
    remote: str
    reason: str
    overwritten: bool = False
    """The remote branch does not even hold what was published."""


@dataclass(frozen=True)
class RemoteGone:
    """The published branch does not stand any more. `restore`: the commit that a restore puts back."""

    restore: str
    reason: str


Comparison = GoOn | FastForward | ForeignHead | Apart | RemoteGone


def compare(heads: Heads) -> Comparison:
    """What to do before work goes on in this workspace."""
    local, published, remote = heads.local, heads.published, heads.remote
    if remote is None:
        if published is None:
            return GoOn("nothing is published yet")
        return RemoteGone(published, f"the branch is gone from the remote; {published} was published")
    if remote != published:
        if published is not None and not heads.remote_has_published:
            lost = f"the remote branch does not contain the published commit {published} any more"
            return Apart(local, remote, lost, overwritten=True)
        if local == remote or heads.local_has_remote or heads.remote_has_local:
            return ForeignHead(remote, f"the remote is at {remote}, which nobody published under this ledger")
        return Apart(local, remote, "this workspace and the remote branch both have commits of their own")
    if local == remote:
        return GoOn("this workspace, the remote and the ledger agree")
    if heads.local_has_remote:
        return GoOn("this workspace has commits that are not published yet", ahead=True)
    if heads.remote_has_local:
        return FastForward(remote, "the remote is ahead, and nothing here is missing there")
    return Apart(local, remote, "this workspace and the published branch both have commits of their own")


def results_count(trunk_ahead: int) -> bool:
    """Whether results on this work say anything about the trunk as it is. `trunk_ahead`: commits of the trunk that the
    work does not contain; with any of them the base is updated first.
    """
    return trunk_ahead == 0
