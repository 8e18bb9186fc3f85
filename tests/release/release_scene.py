"""A release as a table test sees it: a trunk ahead of main with its PR, and a person who may authorize it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from app.domain.authorization import digest_of
from app.domain.landing_evidence import BranchRules, LandingEvidence
from app.domain.permission import Level, RoleHeld
from app.domain.policy import Policy
from app.domain.release_comment import release_marker
from app.domain.release_decide import ReleaseSituation, decide
from app.domain.release_observation import (
    Account,
    GuardRun,
    Included,
    OwnComment,
    ReleaseObservation,
    ReleasePull,
)
from app.domain.release_pull import body_with
from app.domain.release_record import Authorization, Person, ReleasePermit, ReleaseRecord, ReleaseTarget, Source
from app.domain.required_checks import Checks, Required, RunSeen
from app.domain.source_comment import CommentAuthor, SourceComment
from app.domain.surroundings import Tip

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
TRUNK = "release-1-2-0"
HEAD, OTHER, BASE = "a" * 40, "b" * 40, "c" * 40
PULL = 7
APP = Account("agent-recovery[bot]", 900, "Bot", ours=True)
LEAD, SECOND, AGENT = Person(login="lead", id=1), Person(login="second", id=2), Person(login="dev-a", id=3)
COMMENT = 5001
MINUTE = timedelta(minutes=1)


def policy(mode: str = "full", **release: Any) -> Policy:
    return Policy.model_validate({"mode": mode, "release": release})


FULL = policy()


def body(sha: str = HEAD) -> str:
    return f"/recovery authorize-release {sha}"


def source_comment(by: Person = LEAD, id: int = COMMENT, **changes: Any) -> SourceComment:
    author = CommentAuthor(by.login, by.id, "User")
    made = SourceComment(id, "C_1", PULL, body(), NOW - 10 * MINUTE, False, author, None)
    return replace(made, **changes)


def receipt(by: Person = LEAD, id: int = COMMENT, **changes: Any) -> Authorization:
    source = Source(comment_id=id, number=PULL, created_at=NOW - 10 * MINUTE, body_digest=digest_of(body()))
    made = Authorization(
        id=str(id),
        pull=PULL,
        base="main",
        head_sha=HEAD,
        by=by,
        at=NOW - 10 * MINUTE,
        expires_at=NOW + timedelta(hours=20),
        source=source,
        worked=False,
    )
    return made.model_copy(update=changes)


def role(by: Person, level: Level = "maintain") -> RoleHeld:
    return RoleHeld(by.login, by.id, level, level)


def pull(**changes: Any) -> ReleasePull:
    made = ReleasePull(
        number=PULL,
        node_id="PR_7",
        state="OPEN",
        is_draft=True,
        title="Release release-1-2-0 with #42",
        body="",
        head=TRUNK,
        head_sha=HEAD,
        base="main",
        author=APP,
        comments=(OwnComment(11, release_marker(TRUNK), NOW),),
    )
    made = replace(made, **changes)
    return made if "body" in changes else replace(made, body=body_with("", observation(pulls=())))


def observation(**changes: Any) -> ReleaseObservation:
    given = ReleaseObservation(
        now=NOW,
        repository_id=1,
        owner="acme",
        name="shop",
        branch=TRUNK,
        default_branch="main",
        into_name="main",
        trunk=Tip(TRUNK, HEAD, "t" * 40),
        into=Tip("main", BASE, "m" * 40),
        files=3,
        ahead=4,
        included=(Included(42, "Sell books", 12),),
        sources={COMMENT: source_comment()},
        roles={1: role(LEAD), 2: role(SECOND), 3: role(AGENT)},
    )
    made = replace(given, **changes)
    return made if "pulls" in changes else replace(made, pulls=(pull(),))


def record(*receipts: Authorization, **changes: Any) -> ReleaseRecord:
    made = ReleaseRecord(
        branch=TRUNK,
        into="main",
        sequence=3,
        begun_at=NOW - timedelta(days=2),
        pull=PULL,
        comment_id=11,
        authorizations=receipts,
    )
    return made.model_copy(update=changes)


def green(sha: str = HEAD) -> GuardRun:
    return GuardRun(31, sha, "completed", "success", "release", "Authorized for this commit", "")


def evidence(**changes: Any) -> LandingEvidence:
    given = LandingEvidence(
        rules=BranchRules(required=(Required("ci"), Required("Agent Recovery / release", 111))),
        checks=Checks(HEAD, HEAD, (RunSeen("ci", "completed", "success", 15, 1, 1),)),
        review=None,
        open_conversations=0,
        mergeable="MERGEABLE",
        merge_state="CLEAN",
        files=("a.py",),
        base_files=(),
        queued=False,
        auto_merge=False,
        release_guard=True,
    )
    return replace(given, **changes)


def permit(kind: str = "release_merge", **changes: Any) -> ReleasePermit:
    target = ReleaseTarget(number=PULL, head_sha=HEAD, base="main", method="merge")
    made = ReleasePermit.model_validate(
        {
            "id": "p1",
            "kind": kind,
            "target": target,
            "author": "boot-1",
            "round": "r1",
            "authorized_by": (str(COMMENT),),
        }
    )
    return made.model_copy(update=changes)


def situation(
    seen: ReleaseObservation | None = None,
    known: ReleaseRecord | None = None,
    says: Policy = FULL,
    dead: bool = True,
) -> ReleaseSituation:
    return ReleaseSituation(seen or observation(), known, says, lambda _: dead)


def plan(
    seen: ReleaseObservation | None = None,
    known: ReleaseRecord | None = None,
    says: Policy = FULL,
    dead: bool = True,
) -> tuple[Any, ...]:
    return decide(situation(seen, known, says, dead))


def kinds(actions: tuple[Any, ...]) -> list[str]:
    return [type(action).__name__ for action in actions]


def roles(**levels: Level) -> Mapping[int, RoleHeld]:
    people = {p.login: p for p in (LEAD, SECOND, AGENT)}
    return {people[name].id: role(people[name], level) for name, level in levels.items()}
