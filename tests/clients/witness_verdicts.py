"""Where the emulator and the npm package `emulate` 0.11.1 differ, who is right, and how that is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

_DESCRIBED = "GitHub's OpenAPI description, "


@dataclass(frozen=True)
class Verdict:
    """``right`` is "open" where GitHub's own answer is not known: then the probe or the question is in ``why``."""

    differs: tuple[str, ...]
    right: Literal["emulator", "witness", "open"]
    why: str
    source: str


def ours(why: str, source: str, *differs: str) -> Verdict:
    """The emulator is right."""
    return Verdict(differs, "emulator", why, source)


_READERS = ours(
    "Who has no write access changes nothing that is somebody else's.",
    "docs.github.com, Repository roles for an organization / Permission levels for a personal account repository",
    "status 403, not 200",
)
_LAZY = ours(
    "Mergeability is looked for when somebody asks, and known to who asks again.",
    _DESCRIBED + "pulls/get; docs.github.com, Using the REST API to interact with your Git database",
    "mergeable_state is 'unknown', not 'clean'",
)
_SPELLING = ours(
    "Both words begin with a capital.",
    "docs.github.com, Troubleshooting the REST API, Validation failed",
    "says 'Validation Failed', not 'Validation failed'",
)

VERDICTS: dict[str, Verdict] = {
    "create it again": ours(
        "The message says that it failed, the error why.",
        "dyad-sh/dyad#1914",
        "says 'Repository creation failed.', not 'Repository already exists'",
    ),
    "read it as nobody known": ours(
        "A token that is none is refused even where nobody needs one.",
        "docs.github.com, Authenticating to the REST API, Failed login limit",
        "status 401, not 200",
    ),
    "a missing branch": ours(
        "The sentence is of this endpoint alone.",
        "PyGithub/PyGithub#1455",
        "says 'Branch not found', not 'Not Found'",
    ),
    "a blob": ours("A short blob has an address and a sha.", _DESCRIBED + "short-blob", "lacks node_id, size"),
    "a tree upon a commit": Verdict(
        ("status 201, not 422",),
        "open",
        "base_tree is described as a tree; that a commit's sha is taken for its tree is said in many places and "
        "recorded in none. Probe: POST git/trees with base_tree a commit.",
        _DESCRIBED + "git/create-tree",
    ),
    "a branch at nothing": ours(
        "An object that is not there is said so.",
        "xmo-odoo/dummy_central, tests/git/refs/test_create_a_reference.py, which is run against GitHub too",
        "says 'Object does not exist', not 'Invalid sha'",
    ),
    "a branch without its prefix": ours(
        "GitHub's sentence; the emulator had another until this witness asked.",
        "xmo-odoo/dummy_central, tests/git/refs/test_create_a_reference.py, which is run against GitHub too",
        "says \"Reference name must start with 'refs/'.\", not 'Invalid ref'",
    ),
    "a branch moved back": ours(
        "No hyphen in fast forward.",
        "bors-ng/bors-ng, lib/worker/batcher.ex, which looks for this sentence",
        "says 'Update is not a fast forward', not 'Update is not a fast-forward'",
    ),
    "a missing branch moved": ours(
        "A ref that is to be changed and is missing is a fault of the request.",
        "solana-foundation/solana-developer-platform#602",
        "status 422, not 404",
    ),
    "a missing branch deleted": ours(
        "The same for one that is to be deleted.",
        "xmo-odoo/dummy_central, tests/git/refs/test_create_a_reference.py, which is run against GitHub too",
        "status 422, not 404",
    ),
    "an Issue without a title": ours(
        "What is described as required is asked for before anything is looked at.",
        _DESCRIBED + "issues/create; the form of the sentence as in octokit/octokit.rb#992",
        "says 'Invalid request.\\n\\n\"title\" wasn\\'t supplied.', not 'Validation failed'",
    ),
    "the label again": _SPELLING,
    "an empty comment": _SPELLING,
    "one without commits": _SPELLING,
    "the label taken off twice": ours(
        "The sentence is of this endpoint alone.",
        "ankidroid/Anki-Android#17548",
        "says 'Label does not exist', not 'Not Found'",
    ),
    "the comment changed by a reader": _READERS,
    "the Issue closed by a reader": _READERS,
    "a merge by a reader": _READERS,
    "comments": ours("What follows from the reader's edit.", _READERS.source, "body is 'd', not 'e'"),
    "the timeline": ours(
        "No timeline says that the Issue was opened, a deleted comment is not in it, and each kind has its members.",
        _DESCRIBED + "issues/list-events-for-timeline; docs.github.com, Issue event types",
        "4 entries, not 6",
        "lacks assignee, issue, milestone, rename",
        "event is 'labeled', not 'opened'",
    ),
    "a pull request": _LAZY,
    "the pull request read": _LAZY,
    "the pull request again": ours(
        "One open pull request for a head and a base.",
        _DESCRIBED + "pulls/create 422",
        "status 422, not 201",
    ),
    "one of a missing branch": ours(
        "A head that is not there is invalid.", _DESCRIBED + "pulls/create 422", "status 422, not 201"
    ),
    "pull requests": ours(
        "A list shows less of each; and it has the two that must not be.",
        _DESCRIBED + "pull-request-simple",
        "1 entries, not 3",
        "lacks additions, changed_files, comments, commits, deletions, maintainer_can_modify, mergeable, "
        "mergeable_state, merged, merged_by, rebaseable, review_comments",
        "title is 'Two', not 'No'",
    ),
    "its files": ours("There is one; the witness does not look.", "git diff main...topic", "1 entries, not 0"),
    "its commits": ours("There is one beyond the base.", "git log main..topic", "1 entries, not 2"),
    "a review of one's own": ours(
        "Nobody approves what is his own.",
        "docs.github.com, Approving a pull request with required reviews",
        "status 422, not 201",
    ),
    "a review": ours("Made, but with 200.", _DESCRIBED + "pulls/create-review", "status 200, not 201"),
    "a check-run of a person": ours("Only Apps write check-runs.", _DESCRIBED + "checks/create", "status 403, not 201"),
    "a status of a commit": ours(
        "The witness has no statuses.", _DESCRIBED + "repos/create-commit-status", "status 201, not 404"
    ),
    "statuses": ours(
        "The witness has no statuses.", _DESCRIBED + "repos/get-combined-status-for-ref", "status 200, not 404"
    ),
    "a merge of another head": ours("409 is for this.", _DESCRIBED + "pulls/merge 409", "status 409, not 422"),
    "the merge": ours("The witness finds no mergeable state.", _DESCRIBED + "pulls/merge 200", "status 200, not 422"),
    "the merge again": ours("405 is for this.", _DESCRIBED + "pulls/merge 405", "status 405, not 422"),
    "the file without its sha": ours(
        "The sentence every client looks for.",
        "octokit/octokit.rb#992",
        "says 'Invalid request.\\n\\n\"sha\" wasn\\'t supplied.', "
        "not '\"sha\" wasn\\'t supplied. f.txt already exists.'",
    ),
    "protection of a bare branch": ours(
        "The sentence by which clients tell it from a missing branch.",
        "sigmavirus24/github3.py#973",
        "says 'Branch not protected', not 'Not Found'",
    ),
    "a broken body": ours(
        "A title may be a number.", _DESCRIBED + "issues/create: title is a string or an integer", "status 201, not 422"
    ),
    "a write by a reader": Verdict(
        ("says 'Must have push access to repository.', not 'Forbidden'",),
        "open",
        "403 is described, the words are not; 404 has been seen for tokens that lack a scope. Probe: POST git/refs as "
        "a reader of a public repository.",
        _DESCRIBED + "git/create-ref",
    ),
}
