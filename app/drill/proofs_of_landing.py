"""Proofs of the delivery: a missing pull request is there, ready tickets land, and nothing is left behind.

As in `proofs_of_work`, every proof looks at GitHub alone, once, and answers.
"""

from collections.abc import Sequence
from datetime import datetime

from github.PullRequest import PullRequest

from app.drill.observer import Observer
from app.drill.proof import NotProved, Proved, Unproved
from app.drill.proofs_of_work import POLICY, Place, looks, pr_created, require

CI = "orchard-ci"
"""The check that the demo's policy requires."""


@looks
def missing_pr(observer: Observer, place: Place) -> Proved:
    """A branch that somebody pushed, of a ticket nobody ever held, has its Draft by the App: right base, linked."""
    head = observer.branch(place.branch)
    opened = pr_created(observer, place)
    if isinstance(opened, NotProved):
        raise Unproved(opened.why)
    newest = observer.ledger(place.ticket)[0]
    require(newest.generation == 0, f"generation {newest.generation} holds #{place.ticket}, so nothing was missing")
    commits = observer.git.commits(f"{observer.branch(place.trunk)}..{head}")
    require(commits, f"{place.branch} has no commit over {place.trunk}")
    return Proved(
        f"{opened.line}; {len(commits)} commit(s) that nobody had opened one for",
        opened.evidence | {"commits": [c.sha for c in commits], "ledger_commit": newest.sha},
    )


@looks
def both_ready(observer: Observer, places: Sequence[Place]) -> Proved:
    """Each ticket's holder says ready for the very head of its branch, and its pull request is no Draft any more."""
    told = {}
    for place in places:
        newest, head = observer.ledger(place.ticket)[0], observer.branch(place.branch)
        status = newest.record["status"]
        require(status == "ready", f"the ledger of #{place.ticket} says {status}, not ready")
        require(newest.counts and newest.published["sha"] == head, f"{place.branch} is not what is published")
        pull = _only_open(observer, place)
        require(not pull.draft, f"#{pull.number} is a Draft")
        told[f"#{place.ticket}"] = {"pull": pull.number, "head": head, "generation": newest.generation}
    return Proved(f"{_named(places)} are ready, and their pull requests are no Drafts", told)


@looks
def landed(observer: Observer, places: Sequence[Place], *, since: str) -> Proved:
    """Each ticket's pull request was merged by the App into the trunk, with a merge commit whose second parent is the
    published head, after the required check had passed on exactly that head, and as the policy says. `since`: the trunk
    before.
    """
    _, text = observer.file(POLICY, places[0].default_branch)
    for line in ("mode: full", CI):
        require(line in text, f"the policy does not say {line}")
    observer.git.fetch()
    trunk = observer.branch(places[0].trunk)
    merges = {c.sha: c for c in observer.git.commits(f"{since}..{trunk}", "--first-parent")}
    told = {}
    for place in places:
        pull = observer.only_pull(place.branch)
        require(pull.merged, f"#{pull.number} is not merged")
        require(pull.base.ref == place.trunk, f"#{pull.number} went to {pull.base.ref}")
        by = pull.merged_by.login if pull.merged_by else "nobody"
        require(by == place.app.login, f"#{pull.number} was merged by {by}")
        made = merges.get(pull.merge_commit_sha or "")
        require(made, f"the merge of #{pull.number} is not in the history of {place.trunk}")
        assert made is not None
        require(made.parents[1:] == (pull.head.sha,), f"{made.sha[:12]} is no merge commit of {pull.head.sha[:12]}")
        published = observer.ledger_anywhere(place.ticket)[0].published
        require(published["sha"] == pull.head.sha, f"what landed of #{place.ticket} is not what was published")
        assert pull.merged_at is not None
        passed = _passed(observer, pull.head.sha)
        require(passed is not None, f"{CI} did not pass on {pull.head.sha[:12]}")
        require(passed and passed <= pull.merged_at, f"#{pull.number} was merged before {CI} had passed")
        told[f"#{place.ticket}"] = {"pull": pull.number, "head": pull.head.sha, "merge_commit": made.sha}
    require(len(merges) == len(places), f"{len(merges)} commits came to {places[0].trunk}, not {len(places)}")
    return Proved(f"{_named(places)} landed on {places[0].trunk} with a merge commit each", told)


@looks
def issues_closed(observer: Observer, places: Sequence[Place]) -> Proved:
    """The tickets' own Issues are closed, as completed, by the App, after their merge; no other Issue is closed."""
    told = {}
    for place in places:
        issue, pull = observer.repository.get_issue(place.ticket), observer.only_pull(place.branch)
        require(issue.state == "closed", f"Issue #{place.ticket} is {issue.state}")
        require(issue.state_reason == "completed", f"Issue #{place.ticket} was closed as {issue.state_reason}")
        by = issue.closed_by.login if issue.closed_by else "nobody"
        require(by == place.app.login, f"Issue #{place.ticket} was closed by {by}")
        closed, merged = issue.closed_at, pull.merged_at
        require(closed and merged and closed >= merged, f"Issue #{place.ticket} was closed before its work had landed")
        told[f"#{place.ticket}"] = {"url": issue.html_url, "closed_at": str(closed)}
    others = [
        i.number
        for i in observer.repository.get_issues(state="closed")
        if i.pull_request is None and i.number not in {p.ticket for p in places}
    ]
    require(not others, f"Issues that are no such ticket were closed: {others}")
    return Proved(f"Issues {_named(places)} are closed as completed, and no other", told)


@looks
def branches_gone(observer: Observer, places: Sequence[Place]) -> Proved:
    """The tickets' branches are gone; their pull requests are merged, not closed by that, and the trunk stands."""
    for place in places:
        require(place.branch not in observer.heads(place.branch), f"the branch {place.branch} still stands")
        require(observer.only_pull(place.branch).merged, f"{place.branch} went, and its pull request was not merged")
    trunk = observer.branch(places[0].trunk)
    return Proved(
        f"the branches of {_named(places)} are gone", {"branches": [p.branch for p in places], places[0].trunk: trunk}
    )


@looks
def ledgers_done(observer: Observer, places: Sequence[Place]) -> Proved:
    """The tickets' ledgers lie under `done/`, say landed, are held by nobody, and nothing lies under `active/`."""
    told = {}
    for place in places:
        refs = observer.ledger_refs(place.ticket)
        active = f"refs/agent-recovery/active/{place.ticket}"
        require(active not in refs, f"{active} still stands")
        require(refs, f"#{place.ticket} has no ledger any more")
        newest = observer.ledger_anywhere(place.ticket)[0]
        status, lease = newest.record["status"], newest.record.get("lease")
        require(status == "landed", f"the ledger of #{place.ticket} says {status}, not landed")
        require(lease is None, f"#{place.ticket} is still held")
        require("ed25519:" in newest.commit.message, "the service has not sealed it")
        told[f"refs/agent-recovery/done/{place.ticket}"] = newest.sha
    return Proved(f"the ledgers of {_named(places)} lie under done/ and say landed", told)


def _passed(observer: Observer, sha: str) -> datetime | None:
    runs = [r for r in observer.repository.get_commit(sha).get_check_runs(check_name=CI) if r.conclusion == "success"]
    return min((r.completed_at for r in runs if r.completed_at is not None), default=None)


def _only_open(observer: Observer, place: Place) -> PullRequest:
    pull = observer.only_pull(place.branch)
    require(pull.state == "open", f"pull request #{pull.number} is {pull.state}")
    return pull


def _named(places: Sequence[Place]) -> str:
    return " and ".join(f"#{p.ticket}" for p in places)
