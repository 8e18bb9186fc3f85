"""Proofs of the release boundary: its Draft is there, nothing but a person's word for one commit lets it through, and
that word ends with the next commit.

As in `proofs_of_work`, every proof looks at GitHub alone, once, and answers.
"""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from github.IssueComment import IssueComment
from github.PullRequest import PullRequest

from app.drill.observer import Observer
from app.drill.proof import Attempt, Proved, Unproved
from app.drill.proofs_of_work import POLICY, Place, looks, require

GUARD = "Agent Recovery / release"
"""The check that the base of releases requires from the App."""


@dataclass(frozen=True)
class Word:
    """What a person said on a release PR: its number, the comment's id, who, the text, the head that stood then."""

    pull: int
    comment: int
    by: str
    text: str
    head: str


@looks
def base_guarded(observer: Observer, place: Place) -> Proved:
    """GitHub itself requires the release check from this App on the base of releases, and the policy accepts nothing
    less.
    """
    _, text = observer.file(POLICY, place.default_branch)
    require("unguarded_base" not in text, "the policy lets tickets land while the base of releases is unguarded")
    rules = observer.rules(place.default_branch)
    bound = [
        (rule, check)
        for rule in rules
        for check in (rule.get("parameters") or {}).get("required_status_checks", ())
        if check.get("context") == GUARD
    ]
    require(bound, f"no rule requires {GUARD} on {place.default_branch}")
    require(
        any(check.get("integration_id") == place.app.id for _, check in bound),
        f"{GUARD} is required on {place.default_branch}, but not from {place.app.slug}",
    )
    return Proved(
        f"GitHub requires {GUARD} from {place.app.slug} on {place.default_branch}",
        {"rulesets": sorted({rule.get("ruleset_id") for rule, _ in bound}), "integration_id": place.app.id},
    )


@looks
def release_draft(observer: Observer, place: Place, *, tickets: tuple[int, ...]) -> Proved:
    """The trunk brings files that its base has not, so there is exactly one open PR for it: a Draft by the App that
    lists the tickets in it, with the guard red on its head.
    """
    observer.git.fetch()
    trunk, base = observer.branch(place.trunk), observer.branch(place.default_branch)
    require(not observer.git.is_ancestor(trunk, base), f"{place.default_branch} has all of {place.trunk}")
    pull = _open_release(observer, place)
    require(pull.draft, f"#{pull.number} is no Draft")
    require(pull.user.login == place.app.login, f"#{pull.number} was opened by {pull.user.login}")
    missing = [number for number in tickets if f"#{number}" not in (pull.body or "")]
    require(not missing, f"#{pull.number} does not name {', '.join(f'#{n}' for n in missing)}")
    conclusion = _guard(observer, place, pull.head.sha)
    require(conclusion == "action_required", f"the guard on {pull.head.sha[:12]} says {conclusion}")
    return Proved(
        f"#{pull.number} is the Draft release PR of {place.trunk}, with {_named(tickets)}; its guard is {conclusion}",
        {"pull": pull.number, "url": pull.html_url, "head": pull.head.sha, "base_sha": base},
    )


@looks
def release_refused(observer: Observer, place: Place, word: Word, by_hand: Attempt, *, base_before: str) -> Proved:
    """`merge-release` without an authorization is answered with what is missing, GitHub refuses a merge by hand for
    want of the guard, and the base is where it was.
    """
    answer = _answer(observer, place, word)
    require("not done" in answer.body, f"the App's answer does not refuse: {_gist(answer)}")
    require("authorize-release" in answer.body, f"the App's answer does not say what is missing: {_gist(answer)}")
    pull = _open_release(observer, place)
    conclusion = _guard(observer, place, pull.head.sha)
    require(conclusion == "action_required", f"the guard on {pull.head.sha[:12]} says {conclusion}")
    require(by_hand.exit_code == 405, f"GitHub answered {by_hand.exit_code} to a merge by hand: {by_hand.answer}")
    _require_base(observer, place, base_before)
    return Proved(
        f"#{pull.number} is not merged: {_gist(answer)}; by hand: {by_hand.answer}",
        {"answer": answer.html_url, "by_hand": by_hand.answer, "base_sha": base_before},
    )


@looks
def release_authorized(observer: Observer, place: Place, word: Word) -> Proved:
    """A person's word for exactly the head: the ledger of the release keeps it as a receipt, and the guard on exactly
    that head is green. Nothing is merged by it.
    """
    pull = _open_release(observer, place)
    require(pull.head.sha == word.head, f"#{pull.number} stands at {pull.head.sha[:12]}, not at {word.head[:12]}")
    receipt = _receipt(observer, place, word)
    require(receipt["head_sha"] == word.head, f"the receipt is for {receipt['head_sha'][:12]}")
    require(receipt.get("voided") is None, f"the receipt counts no more: {receipt.get('voided')}")
    conclusion = _guard(observer, place, word.head)
    require(conclusion == "success", f"the guard on {word.head[:12]} says {conclusion}")
    return Proved(
        f"{word.by} authorized {word.head[:12]}; the guard on it is green, and #{pull.number} is still open",
        {"receipt": receipt, "head": word.head, "pull": pull.number},
    )


@looks
def release_void(observer: Observer, place: Place, old: Word, again: Word, *, base_before: str) -> Proved:
    """One more commit, and the word for the one before counts no more: the guard on the new head is red,
    `merge-release` is refused, and the receipt says why.
    """
    head = observer.branch(place.trunk)
    require(head != old.head, f"{place.trunk} is still at {head[:12]}")
    pull = _open_release(observer, place)
    require(pull.head.sha == head, f"#{pull.number} does not show {head[:12]} yet")
    conclusion = _guard(observer, place, head)
    require(conclusion == "action_required", f"the guard on {head[:12]} says {conclusion}")
    voided = _receipt(observer, place, old).get("voided")
    require(voided, f"the receipt for {old.head[:12]} still counts")
    answer = _answer(observer, place, again)
    require("not done" in answer.body, f"the App's answer does not refuse: {_gist(answer)}")
    _require_base(observer, place, base_before)
    assert voided is not None
    return Proved(
        f"one more commit: the word for {old.head[:12]} is void ({voided['why']}), the guard on {head[:12]} is red",
        {"voided": voided, "head": head, "answer": answer.html_url},
    )


@looks
def release_merged(observer: Observer, place: Place, word: Word, *, base_before: str) -> Proved:
    """The App merged exactly the authorized head into the base of releases, once; nothing else came to the base, and
    as nothing differs any more there is no release PR left.
    """
    observer.git.fetch()
    merged = [p for p in observer.pulls(place.trunk) if p.base.ref == place.default_branch and p.merged]
    require(merged, f"no release PR of {place.trunk} is merged")
    require(len(merged) == 1, f"{len(merged)} release PRs of {place.trunk} are merged")
    pull = merged[0]
    by = pull.merged_by.login if pull.merged_by else "nobody"
    require(by == place.app.login, f"#{pull.number} was merged by {by}")
    base = observer.branch(place.default_branch)
    commits = observer.git.commits(f"{base_before}..{base}", "--first-parent")
    require(
        [c.sha for c in commits] == [pull.merge_commit_sha], f"{len(commits)} commits came to the base, not the merge"
    )
    require(commits[0].parents[1:] == (word.head,), f"{base[:12]} does not merge {word.head[:12]}")
    left = [p.number for p in observer.pulls(place.trunk) if p.state == "open"]
    require(not left, f"#{', #'.join(map(str, left))} is open though nothing differs")
    return Proved(
        f"#{pull.number} is merged into {place.default_branch} at {word.head[:12]}, by {word.by}'s word",
        {"pull": pull.number, "head": word.head, "merge_commit": base},
    )


def _open_release(observer: Observer, place: Place) -> PullRequest:
    found = [p for p in observer.pulls(place.trunk) if p.state == "open" and p.base.ref == place.default_branch]
    require(len(found) == 1, f"{len(found)} open release PRs of {place.trunk}, not one")
    return found[0]


def _guard(observer: Observer, place: Place, sha: str) -> str:
    """What the App's guard says of a commit. Every run of it has to say the same."""
    runs = observer.check_runs(sha, place.app, GUARD)
    require(runs, f"no guard on {sha[:12]}")
    said = {run.conclusion or run.status for run in runs}
    require(len(said) == 1, f"the guards on {sha[:12]} say {', '.join(sorted(said))}")
    return said.pop()


def _answer(observer: Observer, place: Place, word: Word) -> IssueComment:
    marker = f"<!-- agent-recovery:answer {word.comment} -->"
    found = [c for c in observer.comments(word.pull, place.app) if c.body.startswith(marker)]
    require(len(found) == 1, f"{len(found)} answers to {word.text!r}, not one")
    return found[0]


def _receipt(observer: Observer, place: Place, word: Word) -> dict[str, Any]:
    """What the release's ledger keeps of a word, read without any code of the App."""
    observer.git.fetch()
    ref = f"refs/agent-recovery/releases/{quote(place.trunk, safe='')}"
    head = observer.git.refs(ref).get(ref)
    if head is None:
        raise Unproved(f"{ref} does not stand")
    for receipt in observer.git.record(head).get("authorizations", ()):
        if receipt["source"]["comment_id"] == word.comment:
            return dict(receipt)
    raise Unproved(f"the ledger of {place.trunk} keeps no receipt of {word.text[:40]!r}")


def _require_base(observer: Observer, place: Place, before: str) -> None:
    now = observer.branch(place.default_branch)
    require(now == before, f"{place.default_branch} went from {before[:12]} to {now[:12]}")


def _gist(answer: IssueComment) -> str:
    """The answer's own words, without its marks and who said what."""
    lines = [line.strip() for line in answer.body.splitlines() if line.strip()]
    return " ".join(line for line in lines if not line.startswith(("<!--", "<sub>")))[:240]


def _named(tickets: tuple[int, ...]) -> str:
    return " and ".join(f"#{n}" for n in tickets)
