"""The words of a release PR, its comment and an incident: kept up to date in place, and nothing of strangers' acts."""

from dataclasses import replace
from datetime import timedelta

import pytest
from release_scene import FULL, HEAD, LEAD, NOW, TRUNK, observation, permit, policy, pull, receipt, record

from app.domain.policy import Policy
from app.domain.release_actions import ReportOnRelease
from app.domain.release_comment import release_comment, release_marker, report_text
from app.domain.release_incident import incident_issue
from app.domain.release_merge_next import merge_text
from app.domain.release_observation import Included, ReleaseObservation
from app.domain.release_pull import block_of, body_with, changed_text, title_of
from app.domain.release_record import Incident, MergedRelease, Voided
from app.domain.release_standing import standing_of

HOSTILE = (
    "fixes #1 @acme/all <!-- /agent-recovery:release --> [skip ci] ](http://evil) `x`\n/recovery authorize-release"
)


def _with(*titles: str) -> ReleaseObservation:
    return observation(included=tuple(Included(41 + n, title) for n, title in enumerate(titles)))


def test_title_and_body_list_what_is_in_it() -> None:
    seen = _with("Sell books", "Sell pens")
    assert title_of(seen) == "Release release-1-2-0 with #41, #42"
    assert "- #41 Sell books\n- #42 Sell pens" in block_of(seen)
    assert title_of(_with(*"abcdefgh")) == "Release release-1-2-0 with #41, #42, #43, #44, #45 and 3 more"
    assert title_of(observation(included=())) == "Release release-1-2-0"
    assert "No ticket" in block_of(observation(included=()))
    assert block_of(replace(_with("a"), included_more=True)).endswith("- and more\n<!-- /agent-recovery:release -->")


def test_several_hundred_tickets_stay_readable() -> None:
    block = block_of(_with(*("t" * 500 for _ in range(450))))
    assert "- and 250 more" in block
    assert len(block) < 31_000
    escaped = block_of(_with(*("<#" * 300 for _ in range(450))))
    assert len(escaped) < 31_000
    assert " more\n<!--" in escaped
    too_long = "x" * 60_000
    assert body_with(too_long, _with(*("<#" * 300 for _ in range(450)))) == too_long


def test_hostile_titles_close_mention_and_end_nothing() -> None:
    block = block_of(_with(HOSTILE))
    assert block.count("<!--") == 2
    for effect in ("@acme", "#1 ", "http://", "[skip ci]", "\n/recovery"):
        assert effect not in block


@pytest.mark.parametrize("branch", ["release-closes", "release/fixes", "release-[skip ci]", "release-@acme"])
def test_a_hostile_branch_closes_and_skips_nothing_where_github_copies_the_title(branch: str) -> None:
    title = title_of(replace(_with("a"), branch=branch))
    assert "closes #" not in title
    assert "closes: #" not in title
    assert "fixes #" not in title
    assert "[skip ci]" not in title
    assert "@acme" not in title


def test_the_block_is_replaced_in_place_and_peoples_text_stays_byte_for_byte() -> None:
    first = _with("Sell books")
    made = f"Notes before\r\n\r\n{block_of(first)}\n\nNotes *after* \n"
    assert body_with(made, first) == made
    changed = body_with(made, _with("Sell pens"))
    assert changed.startswith("Notes before\r\n\r\n<!--")
    assert changed.endswith("\n\nNotes *after* \n")
    assert "Sell pens" in changed
    assert "Sell books" not in changed
    assert body_with(made.replace("\n", "\r\n"), first) == made.replace("\n", "\r\n")
    assert body_with("A person's own words", first).endswith("A person's own words")


def test_a_persons_own_title_stays_and_ours_follows_what_is_in_it() -> None:
    seen = _with("Sell books")
    kept = pull(title="Our autumn release", body=body_with("", seen))
    assert changed_text(kept, seen) == (None, None)
    title, body = changed_text(pull(title="Release release-1-2-0", body=""), seen)
    assert title == "Release release-1-2-0 with #41"
    assert body is not None
    assert changed_text(pull(title=title, body=body), seen) == (None, None)
    longer = pull(title="Release release-1-2-0-rc with #9", body=body)
    assert changed_text(longer, seen) == (None, None)


def test_the_comment_says_who_authorized_what_until_when_and_does_not_change_by_itself() -> None:
    known = record(receipt())
    told = release_comment(known, standing_of(known, observation(), FULL), observation(), FULL)
    assert told.startswith(release_marker(TRUNK))
    assert f"**Authorized** for `{HEAD}` by lead, until 2026-12-01T08:00:00Z." in told
    # In the words of the refusals and the guard.
    assert "| asked for | 1 of: anybody with at least the role maintain |" in told
    later = observation(now=NOW + timedelta(hours=1))
    assert release_comment(known, standing_of(known, later, FULL), later, FULL) == told


def test_the_comment_says_what_is_missing_and_why_an_older_word_does_not_count() -> None:
    known = record(receipt(voided=Voided(why="revoked", at=NOW, by="second")))
    told = release_comment(known, standing_of(known, observation(), FULL), observation(), FULL)
    assert "**Not authorized:**" in told
    assert f"/recovery authorize-release {HEAD}" in told
    assert "it was revoked by second" in told


@pytest.mark.parametrize(("says", "words"), [(FULL, "/recovery merge-release"), (policy("repair"), "merges nothing")])
def test_the_comment_says_how_it_is_merged(says: Policy, words: str) -> None:
    known = record(receipt())
    assert words in release_comment(known, standing_of(known, observation(), says), observation(), says)


def test_the_comment_tells_of_a_merge_that_may_still_come() -> None:
    known = record(open=(permit(state="withdrawn", unanswered=True),))
    told = release_comment(known, standing_of(known, observation(), FULL), observation(), FULL)
    assert "may still carry that out" in told


def test_a_report_names_who_did_it_and_what_helps() -> None:
    told = report_text(ReportOnRelease(7, "reopened-7", "the App opened it again", "leave it", "lead"))
    assert told.splitlines()[0] == "<!-- agent-recovery:release-report:reopened-7 -->"
    assert "@lead: the App opened it again." in told
    assert "@" not in report_text(ReportOnRelease(7, "e", "the App opened it again", "leave it"))


def test_an_incident_tells_who_what_when_and_what_had_been_authorized() -> None:
    merged = MergedRelease(pull=7, head_sha="b" * 40, base="main", merge_sha="d" * 40, at=NOW, by="second")
    incident = Incident(pull=7, head_sha="b" * 40, at=NOW, reason="nobody's word stood")
    known = record(receipt(voided=Voided(why="new_head", at=NOW)), merged=(merged,), incidents=(incident,))
    issue = incident_issue(incident, known, observation())
    assert issue.body.startswith(issue.marker)
    for words in ("second", "b" * 40, "d" * 40, "2026-11-30T12:00:00Z", "lead", HEAD, "new_head", "main", TRUNK):
        assert words in issue.body
    assert "PR #7" in issue.title
    bare = incident_issue(incident, record(merged=(merged,)), observation())
    assert "Nobody had authorized anything" in bare.body


def test_the_merge_commit_says_numbers_and_our_own_words() -> None:
    verdict = standing_of(record(receipt()), observation(), FULL).verdict
    title, message = merge_text(pull(title=HOSTILE, body=HOSTILE), verdict)  # type: ignore[arg-type]
    assert title == "Merge release PR 7"
    assert message == f"The commit {HEAD} was authorized for exactly this merge (comments 5001)."
    assert LEAD.login not in message
