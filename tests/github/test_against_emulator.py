"""Every call with real HTTP and real git, against the emulator."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.domain.model import ZERO_SHA
from app.domain.observation import Pull
from app.domain.outcome import Code, Refused
from app.emulator.client import Emulator
from app.github.budget import counting
from app.github.checks import CheckRunWrite
from app.github.client import GitHub
from app.github.clock import GitHubClock
from app.github.errors import Forbidden, Moved, NotFound, RateLimited, RefsUndecided, Suspended, Unanswered, Validation
from app.github.pulls import PullRefusal, PullRefused
from app.github.refs import RefUpdate
from app.github.repository import Repository

ACTIVE, DONE = "refs/agent-recovery/active/42", "refs/agent-recovery/done/42"
WHEN = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
PERMISSIONS = {
    "metadata": "read",
    "contents": "write",
    "issues": "write",
    "pull_requests": "write",
    "checks": "write",
    "statuses": "write",
}
POLICY = "version: 1\nmode: full\n"
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    with Emulator.start(tmp_path_factory.mktemp("emulator")) as running:
        yield running


@dataclass(frozen=True)
class World:
    emulator: Emulator
    app: dict[str, Any]
    installation: int
    owner: str
    name: str
    token: str
    issue: int
    issue_author: str

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"


@pytest.fixture(scope="module")
def installed(emulator: Emulator) -> dict[str, Any]:
    """An organization, a person, and the App with its installation."""
    emulator.org("octo-org")
    person = emulator.user("dev-a")
    app = emulator.app("agent-recovery", permissions=PERMISSIONS)
    number = emulator.installation(app["slug"], "octo-org")["id"]
    return {"app": app, "installation": number, "token": person["token"]}


@pytest.fixture
def world(emulator: Emulator, installed: dict[str, Any]) -> Iterator[World]:
    """A repository of its own with a trunk and an Issue; the App is installed."""
    name = f"demo-{next(_numbers)}"
    emulator.repo(
        "octo-org",
        name,
        files={"README.md": "hello\n", ".github/agent-recovery.yml": POLICY},
        branches={"release-1-2-0": None},
        collaborators={"dev-a": "maintain"},
        private=True,
    )
    issue = emulator.issue(f"octo-org/{name}", "Fix it", body="- [ ] one", author="dev-a", assignees=["dev-a"])
    yield World(emulator, owner="octo-org", name=name, issue=issue["number"], issue_author="dev-a", **installed)
    emulator.clear_faults()


@pytest.fixture
async def github(world: World) -> AsyncIterator[GitHub]:
    async with GitHub(world.app["id"], [world.app["pem"]], world.emulator.url, timeout_s=5.0) as client:
        yield client


@pytest.fixture
async def repository(github: GitHub, world: World) -> Repository:
    return await github.repository(world.owner, world.name)


async def ledger_commit(repository: Repository, text: str, *parents: str) -> str:
    tree = await repository.create_tree({"record.json": text})
    return await repository.create_commit(tree, parents, f"{text}\n\nRecovery-Ticket: 42\n", WHEN)


async def standing(repository: Repository) -> dict[str, str]:
    return {ref.name: ref.sha for ref in await repository.matching_refs("refs/agent-recovery/")}


async def work_on(world: World, repository: Repository, branch: str) -> str:
    """A ticket branch with one commit, made as an agent would."""
    base = await repository.commit_of_branch("release-1-2-0")
    assert base is not None
    await repository.update_refs([RefUpdate(f"refs/heads/{branch}", ZERO_SHA, base)])
    return world.emulator.commit(world.full_name, {"work.txt": "done\n"}, branch=branch)


async def opened(repository: Repository, branch: str) -> Pull:
    pull = await repository.create_pull(branch, "release-1-2-0", "Ticket 42", "Ticket: #42", True)
    assert isinstance(pull, Pull)
    return pull


async def test_what_the_app_is_installed_on(github: GitHub, repository: Repository, world: World) -> None:
    assert (repository.private, repository.default_branch) == (True, "main")
    (mine,) = await github.installations()
    assert (mine.id, mine.account, mine.suspended) == (world.installation, world.owner, False)
    listed = await github.installation_repositories(mine.id)
    assert (repository.id, world.owner, world.name) in [(r.id, r.owner, r.name) for r in listed]
    with pytest.raises(NotFound):
        await github.repository(world.owner, "nothing")


async def test_githubs_clock_is_learned_and_tokens_follow_it(
    github: GitHub, repository: Repository, world: World
) -> None:
    assert abs(github.clock.now().timestamp() - world.emulator.now()) < 3
    world.emulator.advance(2 * 86400)
    # The old token has expired by GitHub's clock, which we have not seen move: refused, replaced, repeated.
    assert await repository.commit_of_branch("main")
    assert abs(github.clock.now().timestamp() - world.emulator.now()) < 3


async def test_an_app_whose_clock_is_wrong_gets_its_token_all_the_same(world: World) -> None:
    for off in (timedelta(days=-365), timedelta(minutes=30)):
        start = (datetime.now(UTC) + off).timestamp()
        clock = GitHubClock(system=lambda start=start: start)  # type: ignore[misc]
        async with GitHub(world.app["id"], [world.app["pem"]], world.emulator.url, clock) as github:
            assert await github.repository(world.owner, world.name)


async def test_callers_and_their_permissions(github: GitHub, repository: Repository, world: World) -> None:
    caller = await github.caller(world.token)
    assert caller.type == "User"
    assert await github.permission(repository, caller.login) == "maintain"
    stranger = world.emulator.user(f"stranger-{next(_numbers)}")
    assert await github.permission(repository, stranger["login"]) == "none"
    assert await github.permission(repository, "nobody-at-all") == "none"
    ours = world.emulator.installation_token(world.app, world.installation)
    for token in (ours, "ghp_" + "x" * 36):
        with pytest.raises(Refused) as caught:
            await github.caller(token)
        assert caught.value.blocked.code is Code.UNAUTHENTICATED


async def test_a_suspended_installation(github: GitHub, repository: Repository, world: World) -> None:
    world.emulator.change_installation(world.installation, suspended=True)
    with pytest.raises(Suspended):
        await repository.commit_of_branch("main")
    (mine,) = await github.installations()
    assert mine.suspended
    world.emulator.change_installation(world.installation, suspended=False)
    assert await repository.commit_of_branch("main")


async def test_a_permission_the_app_lacks(world: World) -> None:
    reader = world.emulator.app("reader", permissions={"metadata": "read", "contents": "read", "issues": "read"})
    world.emulator.installation("reader", world.owner)
    async with GitHub(reader["id"], [reader["pem"]], world.emulator.url) as github:
        repository = await github.repository(world.owner, world.name)
        with pytest.raises(Forbidden):
            await repository.create_tree({"record.json": "{}"})
        with pytest.raises(Forbidden):
            await repository.create_comment(world.issue, "x")


async def test_objects_are_the_same_however_often_they_are_made(repository: Repository) -> None:
    first = await ledger_commit(repository, "{}")
    assert await ledger_commit(repository, "{}") == first
    assert await ledger_commit(repository, "{ }") != first


async def test_a_ledger_is_born_moved_and_refused(repository: Repository) -> None:
    x = await ledger_commit(repository, "1")
    await repository.update_refs([RefUpdate(ACTIVE, ZERO_SHA, x), RefUpdate(DONE, ZERO_SHA, x)])
    assert await standing(repository) == {ACTIVE: x, DONE: x}
    x1 = await ledger_commit(repository, "2", x)
    await repository.update_refs([RefUpdate(ACTIVE, x, x1), RefUpdate(DONE, x, ZERO_SHA)])
    assert await standing(repository) == {ACTIVE: x1}
    with pytest.raises(RefsUndecided):
        await repository.update_refs([RefUpdate(DONE, ZERO_SHA, x1), RefUpdate(ACTIVE, x, ZERO_SHA)])
    assert await standing(repository) == {ACTIVE: x1}
    forked = await ledger_commit(repository, "3")
    with pytest.raises(RefsUndecided):
        await repository.update_refs([RefUpdate(ACTIVE, x1, forked)])
    await repository.update_refs([RefUpdate(ACTIVE, x1, forked, force=True)])
    assert await standing(repository) == {ACTIVE: forked}


async def test_of_many_claims_one_wins(repository: Repository) -> None:
    root = await ledger_commit(repository, "root")
    await repository.update_refs([RefUpdate(ACTIVE, ZERO_SHA, root)])
    rivals = [await ledger_commit(repository, f"rival {i}", root) for i in range(6)]

    async def claim(commit: str) -> bool:
        try:
            await repository.update_refs([RefUpdate(ACTIVE, root, commit)])
        except RefsUndecided:
            return False
        return True

    won = await asyncio.gather(*(claim(commit) for commit in rivals))
    assert sum(won) == 1
    assert await standing(repository) == {ACTIVE: rivals[won.index(True)]}


async def test_receive_pack_does_what_update_refs_does(repository: Repository, world: World) -> None:
    world.emulator.switches(world.full_name, update_refs="refused")
    x = await ledger_commit(repository, "1")
    x1 = await ledger_commit(repository, "2", x)
    with pytest.raises(RefsUndecided):
        await repository.update_refs([RefUpdate(ACTIVE, ZERO_SHA, x)])
    birth = [RefUpdate(ACTIVE, ZERO_SHA, x), RefUpdate(DONE, ZERO_SHA, x)]
    assert await repository.receive_pack(birth) == {ACTIVE: None, DONE: None}
    assert await standing(repository) == {ACTIVE: x, DONE: x}
    stale = await repository.receive_pack([RefUpdate(ACTIVE, x1, x), RefUpdate(DONE, x, ZERO_SHA)])
    assert all(stale.values())
    assert await standing(repository) == {ACTIVE: x, DONE: x}
    claimed = [RefUpdate(ACTIVE, x, x1), RefUpdate(DONE, x, ZERO_SHA)]
    assert await repository.receive_pack(claimed) == {ACTIVE: None, DONE: None}
    assert await repository.receive_pack([RefUpdate(ACTIVE, x1, ZERO_SHA)]) == {ACTIVE: None}
    assert await standing(repository) == {}


async def test_where_custom_refs_are_refused_both_ways_say_no(repository: Repository, world: World) -> None:
    world.emulator.switches(world.full_name, custom_refs="refused")
    x = await ledger_commit(repository, "1")
    with pytest.raises(RefsUndecided):
        await repository.update_refs([RefUpdate(ACTIVE, ZERO_SHA, x)])
    report = await repository.receive_pack([RefUpdate(ACTIVE, ZERO_SHA, x)])
    assert report[ACTIVE]
    branch = "refs/heads/agent-recovery/active/42"
    await repository.update_refs([RefUpdate(branch, ZERO_SHA, x)])
    assert await repository.commit_of_branch("agent-recovery/active/42") == x


async def test_an_update_whose_answer_was_lost_stands_in_the_refs(repository: Repository, world: World) -> None:
    x = await ledger_commit(repository, "1")
    world.emulator.fault("drop_after", match={"operation": "UpdateRefs"})
    with pytest.raises(RefsUndecided):
        await repository.update_refs([RefUpdate(ACTIVE, ZERO_SHA, x)])
    assert await standing(repository) == {ACTIVE: x}
    world.emulator.fault("drop_before", match={"operation": "UpdateRefs"})
    with pytest.raises(RefsUndecided):
        await repository.update_refs([RefUpdate(ACTIVE, x, ZERO_SHA)])
    assert await standing(repository) == {ACTIVE: x}


async def test_many_refs_are_all_read_and_a_prefix_is_a_prefix(repository: Repository) -> None:
    x = await ledger_commit(repository, "1")
    names = [f"refs/agent-recovery/active/{n}" for n in range(1, 131)]
    for chunk in (names[:70], names[70:]):
        await repository.update_refs([RefUpdate(name, ZERO_SHA, x) for name in chunk])
    assert len(await repository.matching_refs("refs/agent-recovery/active/")) == 130
    found = {ref.name for ref in await repository.matching_refs("agent-recovery/active/12")}
    assert found == {f"refs/agent-recovery/active/{n}" for n in (12, *range(120, 130))}


@pytest.mark.parametrize("branch", ["feature/ui#123", "100%2Fdone", "a+b@c", "x&y=1", "ticket/42-修正", "ä"])
async def test_branches_with_difficult_names(repository: Repository, branch: str) -> None:
    head = await repository.commit_of_branch("main")
    assert head is not None
    await repository.update_refs([RefUpdate(f"refs/heads/{branch}", ZERO_SHA, head)])
    assert await repository.commit_of_branch(branch) == head
    assert [b.name for b in await repository.find_branches(branch)] == [branch]
    assert await repository.commit_of_branch(branch.split("#")[0] + "-not") is None


async def test_the_ledgers_history_comes_through_all_its_parents(repository: Repository, world: World) -> None:
    code = await work_on(world, repository, "ticket/42")
    chain = [await ledger_commit(repository, '{"n": 0}')]
    for n in range(1, 6):
        parents = (chain[-1], code) if n % 2 else (chain[-1],)
        chain.append(await ledger_commit(repository, f'{{"n": {n}}}', *parents))
    await repository.update_refs([RefUpdate(ACTIVE, ZERO_SHA, chain[-1])])
    page = await repository.ledger_history(chain[-1])
    commits = {commit.oid: commit for commit in page.commits}
    assert page.commits[0].oid == chain[-1]
    assert not page.has_next
    at: str | None = chain[-1]
    walked = []
    while at is not None:
        walked.append(commits[at])
        at = commits[at].parents[0] if commits[at].parents else None
    assert [c.files["record.json"] for c in walked] == [f'{{"n": {n}}}' for n in range(5, -1, -1)]
    assert walked[0].parents == (chain[4], code)
    first = await repository.ledger_history(chain[-1], first=2)
    assert first.has_next
    second = await repository.ledger_history(chain[-1], first=100, after=first.cursor)
    assert {c.oid for c in first.commits} | {c.oid for c in second.commits} == set(chain)
    with pytest.raises(NotFound):
        await repository.ledger_history("d" * 40)


async def test_two_commits_compared(repository: Repository, world: World) -> None:
    head = await work_on(world, repository, "ticket/42")
    ahead = await repository.compare("release-1-2-0", "ticket/42")
    assert (ahead.status, ahead.ahead_by, ahead.behind_by) == ("ahead", 1, 0)
    assert [c.sha for c in ahead.commits] == [head]
    assert (await repository.compare(head, head)).status == "identical"
    with pytest.raises(NotFound):
        await repository.compare("release-1-2-0", "no-such-branch")


async def test_a_look_at_a_ticket_is_one_request(github: GitHub, repository: Repository, world: World) -> None:
    await work_on(world, repository, "ticket/42")
    head = await repository.commit_of_branch("ticket/42")
    assert head is not None
    pull = await opened(repository, "ticket/42")
    handoff = await repository.create_comment(pull.number, "<!-- agent-recovery:handoff -->")
    world.emulator.comment(world.full_name, pull.number, world.issue_author, "hello")
    run = await repository.create_check_run(CheckRunWrite(head, "in_progress", "42:1:0:abc", "t", "s", "long"))
    told = await repository.create_comment(world.issue, "told")
    before = github.meter.snapshot()
    with counting("look"):
        seen = await repository.observe(world.issue, "ticket/42", "release-1-2-0")
    assert github.meter.since(before).total == github.meter.since(before).of(kind="graphql", step="look") == 1
    assert abs((seen.now - github.clock.now()).total_seconds()) < 5
    assert (seen.repository_id, seen.owner, seen.name, seen.default_branch) == (
        repository.id,
        world.owner,
        world.name,
        "main",
    )
    assert seen.policy_text == POLICY
    assert seen.issue is not None
    assert (seen.issue.title, seen.issue.state, seen.issue.assignees) == ("Fix it", "OPEN", (world.issue_author,))
    assert seen.branch("ticket/42") is not None
    assert seen.trunk is not None
    assert seen.trunk.name == "release-1-2-0"
    (shown,) = seen.pulls
    assert shown.mergeable in ("MERGEABLE", "UNKNOWN")
    assert replace(shown, comments=(), mergeable=None) == pull
    assert [c.id for c in shown.comments] == [handoff.id]
    assert [(r.id, r.sha, r.status, r.external_id, r.text) for r in seen.check_runs] == [
        (run, head, "in_progress", "42:1:0:abc", "long")
    ]
    assert [(c.id, c.edited_by_other) for c in seen.issue_comments] == [(told.id, False)]


async def test_a_look_at_a_ticket_without_anything(repository: Repository, world: World) -> None:
    seen = await repository.observe(world.issue, None, None)
    # The Issue's number is 1, and so a release branch has it in its name.
    assert [branch.name for branch in seen.branches] == ["release-1-2-0"]
    assert (seen.trunk, seen.pulls, seen.check_runs, seen.issue_comments) == (None, (), (), ())
    seen = await repository.observe(world.issue, "ticket/42", "release-9")
    assert (seen.branch("ticket/42"), seen.trunk, seen.pulls) == (None, None, ())
    nothing = await repository.observe(4711, None, None)
    assert (nothing.issue, nothing.is_pull_request) == (None, False)


async def test_a_pull_request_from_draft_to_ready_and_back(repository: Repository, world: World) -> None:
    await work_on(world, repository, "ticket/42")
    pull = await opened(repository, "ticket/42")
    assert (pull.state, pull.is_draft, pull.base) == ("OPEN", True, "release-1-2-0")
    (found,) = await repository.find_pulls("ticket/42", "release-1-2-0")
    assert found == pull
    assert await repository.find_pulls("ticket/4", "release-1-2-0") == []
    for draft in (False, True, True):
        await repository.set_draft(pull.node_id, draft)
        (found,) = await repository.find_pulls("ticket/42", "release-1-2-0", state="open")
        assert found.is_draft is draft


async def test_pull_requests_github_refuses(repository: Repository, world: World) -> None:
    await work_on(world, repository, "ticket/42")
    await opened(repository, "ticket/42")
    base = await repository.commit_of_branch("release-1-2-0")
    assert base is not None
    await repository.update_refs([RefUpdate("refs/heads/ticket/43", ZERO_SHA, base)])

    async def refusal(head: str, onto: str = "release-1-2-0") -> PullRefusal | None:
        refused = await repository.create_pull(head, onto, "t", "b", True)
        return refused.kind if isinstance(refused, PullRefused) else None

    assert await refusal("ticket/42") is PullRefusal.ALREADY_EXISTS
    assert await refusal("ticket/43") is PullRefusal.NO_COMMITS
    assert await refusal("ticket/44") is PullRefusal.HEAD_MISSING
    assert await refusal("ticket/42", "release-9") is PullRefusal.BASE_MISSING
    world.emulator.change_repo(world.full_name, plan_allows_drafts=False)
    world.emulator.commit(world.full_name, {"more.txt": "x"}, branch="ticket/43")
    assert await refusal("ticket/43") is PullRefusal.DRAFT_UNSUPPORTED


async def test_a_pull_request_closed_with_its_branch_and_reopened(repository: Repository, world: World) -> None:
    head = await work_on(world, repository, "ticket/42")
    pull = await opened(repository, "ticket/42")
    name = "refs/heads/ticket/42"
    await repository.update_refs([RefUpdate(name, head, ZERO_SHA)])
    (closed,) = await repository.find_pulls("ticket/42", "release-1-2-0")
    assert closed.state == "CLOSED"
    refused = await repository.reopen_pull(pull.number)
    assert isinstance(refused, PullRefused)
    assert refused.kind is PullRefusal.HEAD_MISSING
    await repository.update_refs([RefUpdate(name, ZERO_SHA, head)])
    again = await repository.reopen_pull(pull.number)
    assert isinstance(again, Pull)
    assert (again.number, again.state) == (pull.number, "OPEN")


async def test_a_comment_and_its_life(repository: Repository, world: World) -> None:
    marker = "<!-- agent-recovery:handoff 42 -->"
    world.emulator.comment(world.full_name, world.issue, world.issue_author, f"{marker} forged")
    first = await repository.create_comment(world.issue, f"{marker} one")
    second = await repository.create_comment(world.issue, f"{marker} two")
    await repository.create_comment(world.issue, "other")
    assert [c.id for c in await repository.find_comments(world.issue, marker)] == [first.id, second.id]
    edited = await repository.edit_comment(first.id, f"{marker} three")
    assert edited.body.endswith("three")
    await repository.delete_comment(second.id)
    await repository.delete_comment(second.id)
    (only,) = await repository.find_comments(world.issue, marker)
    assert (only.id, only.body, only.edited_by_other) == (first.id, edited.body, False)
    with pytest.raises(NotFound):
        await repository.edit_comment(second.id, "x")
    with pytest.raises(NotFound):
        await repository.find_comments(4711, marker)
    with pytest.raises(Validation):
        await repository.create_comment(world.issue, "x" * 70_000)


async def test_a_comment_whose_answer_was_lost_is_found_by_its_marker(repository: Repository, world: World) -> None:
    world.emulator.fault("status_after", match={"method": "POST", "path_regex": "/comments$"}, code=502)
    with pytest.raises(Unanswered) as caught:
        await repository.create_comment(world.issue, "<!-- m -->")
    assert caught.value.status == 502
    assert len(await repository.find_comments(world.issue, "<!-- m -->")) == 1


async def test_a_check_run_and_its_life(repository: Repository, world: World) -> None:
    sha = await repository.commit_of_branch("main")
    assert sha is not None
    run = CheckRunWrite(sha, "in_progress", "42:1:0:abc", "Working", "summary", "text", started_at=WHEN)
    id = await repository.create_check_run(run)
    done = replace(run, status="completed", conclusion="success", completed_at=WHEN, external_id="42:1:1:def")
    await repository.update_check_run(id, done)
    (found,) = await repository.find_check_runs(sha)
    assert (found.id, found.status, found.conclusion, found.external_id) == (id, "completed", "success", "42:1:1:def")
    assert (found.title, found.summary, found.text) == ("Working", "summary", "text")
    assert found.completed_at == "2026-11-30T12:00:00Z"
    with pytest.raises(NotFound):
        await repository.update_check_run(id + 12345, done)
    with pytest.raises(Validation):
        await repository.update_check_run(id, replace(done, text="x" * 66_000))


async def test_nothing_is_sent_that_was_not_counted(github: GitHub, world: World) -> None:
    start = world.emulator.forget_requests()
    before = github.meter.snapshot()
    repository = await github.repository(world.owner, world.name)
    x = await ledger_commit(repository, "1")
    await repository.update_refs([RefUpdate(ACTIVE, ZERO_SHA, x)])
    await repository.receive_pack([RefUpdate(ACTIVE, x, ZERO_SHA)])
    await repository.observe(world.issue, None, None)
    assert len(world.emulator.requests(start)) == github.meter.since(before).total


async def test_a_renamed_repository_is_known_by_id_and_never_written_under_its_old_name(
    github: GitHub, repository: Repository, world: World
) -> None:
    base = await repository.commit_of_branch("release-1-2-0")
    assert base is not None
    world.emulator.rename_repo(world.full_name, f"{world.name}-new")
    with pytest.raises(Moved):
        await repository.create_check_run(CheckRunWrite(base, "in_progress", "42:1:1", "Working", "One"))
    with pytest.raises(Moved):
        await repository.matching_refs("refs/agent-recovery/")
    async with GitHub(world.app["id"], [world.app["pem"]], world.emulator.url, timeout_s=5.0) as fresh:
        with pytest.raises(Moved):
            await fresh.repository(world.owner, world.name)
        found = await fresh.repository(world.owner, f"{world.name}-new")
        assert found.id == repository.id
        assert await found.commit_of_branch("release-1-2-0") == base


async def test_a_transferred_repository_is_out_of_reach(github: GitHub, repository: Repository, world: World) -> None:
    world.emulator.org(f"other-{world.name}")
    world.emulator.transfer_repo(world.full_name, f"other-{world.name}")
    with pytest.raises((Moved, NotFound)):
        await repository.matching_refs("refs/agent-recovery/")
    async with GitHub(world.app["id"], [world.app["pem"]], world.emulator.url, timeout_s=5.0) as fresh:
        with pytest.raises((Moved, NotFound)):
            await fresh.repository(world.owner, world.name)


@pytest.mark.parametrize(
    ("status", "points", "secondary"), [(403, {}, False), (429, {}, False), (403, {"core": 0}, True)]
)
async def test_a_spent_hour_and_a_limit_on_behaviour_are_told_apart(
    repository: Repository, world: World, status: int, points: dict[str, int], secondary: bool
) -> None:
    try:
        world.emulator.limits(status=status, points=points)
        world.emulator.rate(f"installation:{world.installation}", 10_000 if secondary else 0)
        with pytest.raises(RateLimited) as limited:
            await repository.matching_refs("refs/agent-recovery/")
    finally:
        world.emulator.rate(f"installation:{world.installation}", 10_000)
        world.emulator.limits(status=403, points={})
    assert (limited.value.secondary, limited.value.stated) == (secondary, True)
    assert 0 < limited.value.wait_s <= (61 if secondary else 3601)


async def test_a_spent_hour_by_graphql(repository: Repository, world: World) -> None:
    main = await repository.commit_of_branch("main")
    assert main is not None
    try:
        world.emulator.rate(f"installation:{world.installation}", 0)
        with pytest.raises(RateLimited) as limited:
            await repository.update_refs([RefUpdate("refs/agent-recovery/active/1", ZERO_SHA, main)])
    finally:
        world.emulator.rate(f"installation:{world.installation}", 10_000)
    assert limited.value.secondary is False
    assert await standing(repository) == {}
