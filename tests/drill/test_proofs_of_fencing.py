"""Each proof about the zombie fails when the refusal, the repair or the report it is about is missing."""

from collections.abc import Callable

import pytest
from drill_scene import BRANCH, Scene

from app.drill import proofs_of_fencing as fencing
from app.drill.proof import Attempt, NotProved, Proof, Proved
from app.drill.proofs_of_fencing import Standing

MARK = "zombie-0123456789ab"
ACCEPTED = Attempt("git push", 0, "forced update")
FENCED_OUT = Attempt("agent-recovery checkpoint", 3, '{"error": {"code": "stale_generation"}}')
FROZEN = Attempt("agent-recovery recover 1", 4, '{"error": {"code": "frozen"}}')

Zombie = Callable[..., Proof]


def assert_not_proved(proof: Proof, *words: str) -> None:
    assert isinstance(proof, NotProved), proof
    for word in words:
        assert word in proof.why


@pytest.fixture
def held(scene: Scene) -> Scene:
    """Generation 2 holds the ticket, is ready, and has its pull request."""
    scene.install()
    scene.begin("1")
    scene.claim(2)
    scene.work("2")
    scene.publish(status="ready", steps=("1", "2"))
    scene.open_pull()
    return scene


def before(scene: Scene) -> Standing:
    return fencing.standing(scene.observer, scene.place)


@pytest.mark.parametrize("proof", [fencing.zombie_checkpoint, fencing.zombie_push, fencing.zombie_ready])
def test_a_zombie_that_is_not_refused_is_seen(held: Scene, proof: Zombie) -> None:
    stood = before(held)
    assert isinstance(proof(held.observer, held.place, FENCED_OUT, stood, mark=MARK), Proved)
    for code in (0, 2, 7):
        attempt = Attempt("agent-recovery checkpoint", code, "something else")
        assert_not_proved(proof(held.observer, held.place, attempt, stood, mark=MARK), f"ended with {code}")


@pytest.mark.parametrize("proof", [fencing.zombie_checkpoint, fencing.zombie_push, fencing.zombie_ready])
def test_a_zombie_whose_words_stand_in_the_ledger_is_seen(held: Scene, proof: Zombie) -> None:
    stood = before(held)
    held.write_ledger("checkpoint", checkpoint={"objective": MARK, "completed_steps": []})
    assert_not_proved(proof(held.observer, held.place, FENCED_OUT, stood, mark=MARK), "zombie's checkpoint")


@pytest.mark.parametrize("proof", [fencing.zombie_checkpoint, fencing.zombie_push, fencing.zombie_ready])
def test_a_zombie_that_takes_the_lease_back_is_seen(held: Scene, proof: Zombie) -> None:
    stood = before(held)
    held.claim(1)
    assert_not_proved(proof(held.observer, held.place, FENCED_OUT, stood, mark=MARK), "changed hands")


def test_zombie_push_sees_a_branch_that_moved(held: Scene) -> None:
    stood = before(held)
    held.work("3")
    held.push()
    assert_not_proved(fencing.zombie_push(held.observer, held.place, FENCED_OUT, stood, mark=MARK), "branch moved")


def test_zombie_ready_sees_a_status_that_changed(held: Scene) -> None:
    stood = before(held)
    held.write_ledger("checkpoint", status="working")
    assert_not_proved(fencing.zombie_ready(held.observer, held.place, FENCED_OUT, stood, mark=MARK), "working")


class TestPlainPush:
    @pytest.fixture
    def foreign(self, held: Scene) -> tuple[Scene, Standing, str]:
        stood = before(held)
        sha = held.work("3", text="by the zombie")
        held.push()
        return held, stood, sha

    def look(self, scene: Scene, stood: Standing, sha: str, **other: Attempt) -> Proof:
        told = {
            "push": ACCEPTED,
            "holder_push": Attempt("agent-recovery push", 5, f"foreign_commits: {sha}"),
            "rewind": Attempt("agent-recovery push --rewind", 0, "{}"),
        } | other
        return fencing.plain_push(scene.observer, scene.place, fencing.PlainPush(pushed=sha, **told), stood)

    def test_shown_needs_a_red_check_on_the_foreign_head(self, foreign: tuple[Scene, Standing, str]) -> None:
        scene, stood, sha = foreign
        assert_not_proved(fencing.plain_push_shown(scene.observer, scene.place, sha, stood), "no check-run")
        scene.show_check(sha)
        assert_not_proved(fencing.plain_push_shown(scene.observer, scene.place, sha, stood), "success")
        scene.show_check(sha, conclusion="action_required", title="Not fenced: by somebody else")
        assert isinstance(fencing.plain_push_shown(scene.observer, scene.place, sha, stood), Proved)

    def test_shown_fails_when_the_ledger_counts_the_foreign_head(self, foreign: tuple[Scene, Standing, str]) -> None:
        scene, stood, sha = foreign
        scene.show_check(sha, conclusion="action_required", title="Not fenced")
        scene.publish(push=False)
        assert_not_proved(fencing.plain_push_shown(scene.observer, scene.place, sha, stood), "counts another head")

    def test_needs_the_rewind_and_the_kept_head(self, foreign: tuple[Scene, Standing, str]) -> None:
        scene, stood, sha = foreign
        scene.show_check(sha, conclusion="action_required", title="Not fenced")
        assert_not_proved(self.look(scene, stood, sha), "not what the ledger calls published")
        scene.git("reset", "--quiet", "--hard", stood.head)
        scene.publish(status="ready")
        assert_not_proved(self.look(scene, stood, sha), "not kept")
        scene.push(f"{sha}:refs/agent-recovery/recovered/1/{sha}")
        assert isinstance(self.look(scene, stood, sha), Proved)

    def test_needs_a_holder_who_was_told(self, foreign: tuple[Scene, Standing, str]) -> None:
        scene, stood, sha = foreign
        scene.show_check(sha, conclusion="action_required", title="Not fenced")
        quiet = Attempt("agent-recovery push", 5, "refused")
        assert_not_proved(self.look(scene, stood, sha, holder_push=quiet), "does not name")
        assert_not_proved(self.look(scene, stood, sha, holder_push=ACCEPTED), "ended with 0")

    def test_fails_when_commits_of_the_holder_are_lost(self, foreign: tuple[Scene, Standing, str]) -> None:
        scene, stood, sha = foreign
        scene.show_check(sha, conclusion="action_required", title="Not fenced")
        scene.push(f"{sha}:refs/agent-recovery/recovered/1/{sha}")
        scene.git("reset", "--quiet", "--hard", f"{stood.head}~1")
        scene.publish(status="ready")
        assert_not_proved(self.look(scene, stood, sha), "commits of the holder are gone")


def test_force_push_needs_the_branch_back_and_the_foreign_head_kept(held: Scene) -> None:
    stood = before(held)
    held.git("reset", "--quiet", "--hard", "HEAD~1")
    pushed = held.work("2", text="the old way")
    held.push(f"+HEAD:refs/heads/{BRANCH}")

    def look(attempt: Attempt = ACCEPTED) -> Proof:
        return fencing.force_push(held.observer, held.place, attempt, pushed, stood)

    assert_not_proved(look(), "not kept")
    held.push(f"{pushed}:refs/agent-recovery/recovered/1/{pushed}")
    assert_not_proved(look(), "not what the ledger calls published")
    held.push(f"+{stood.head}:refs/heads/{BRANCH}")
    assert isinstance(look(), Proved)
    assert_not_proved(look(Attempt("git push", 1, "rejected")), "refused the forced push")


def test_branch_deleted_needs_the_branch_back_and_the_same_pull_request_open(held: Scene) -> None:
    stood = before(held)
    number = held.observer.only_pull(BRANCH).number

    def look() -> Proof:
        return fencing.branch_deleted(held.observer, held.place, ACCEPTED, stood, number=number)

    assert_not_proved(look(), "has not seen the branch deleted")
    held.push(f":refs/heads/{BRANCH}")
    assert_not_proved(look(), "does not stand")
    held.push(f"{stood.head}:refs/heads/{BRANCH}")
    assert_not_proved(look(), "closed")
    held.as_app.get_pull(number).edit(state="open")
    assert isinstance(look(), Proved)


class TestLedgerMovedBack:
    def moved(self, scene: Scene, stood: Standing, **other: Attempt) -> fencing.MovedLedger:
        older = next(e for e in scene.observer.ledger(1) if e.generation == 1).sha
        scene.push(f"+{older}:refs/agent-recovery/active/1")
        told = {"push": ACCEPTED, "claim": FROZEN, "old_holder": FROZEN} | other
        return fencing.MovedLedger(moved_to=older, comments_before=frozenset(), **told)

    def test_needs_exactly_one_report(self, held: Scene) -> None:
        stood, place = before(held), held.place
        moved = self.moved(held, stood)
        pull = held.as_app.get_pull(held.observer.only_pull(BRANCH).number)

        def look() -> Proof:
            return fencing.ledger_moved_back(held.observer, place, moved, stood)

        assert_not_proved(look(), "0 reports")
        pull.create_issue_comment("<!-- agent-recovery:report:1:backwards -->\nstopped")
        assert isinstance(look(), Proved)
        pull.create_issue_comment("<!-- agent-recovery:report:1:backwards -->\nstopped")
        assert_not_proved(look(), "2 reports")

    def test_fails_when_the_ticket_is_granted_or_the_ledger_moved(self, held: Scene) -> None:
        stood, place = before(held), held.place
        granted = self.moved(held, stood, claim=Attempt("agent-recovery recover 1", 0, "{}"))
        assert_not_proved(fencing.ledger_moved_back(held.observer, place, granted, stood), "ended with 0")
        held.push(f"+{stood.ledger.sha}:refs/agent-recovery/active/1")
        moved = fencing.MovedLedger(ACCEPTED, granted.moved_to, FROZEN, FROZEN, frozenset())
        assert_not_proved(fencing.ledger_moved_back(held.observer, place, moved, stood), "moved again")


def test_a_refused_push_is_proved_only_where_git_alone_was_refused_too() -> None:
    refused = Attempt("git push", 1, "! [rejected] 3351d89 -> refs/agent-recovery/active/42 (stale info)")
    proved = fencing.refused_by_git_too(Proved("refused"), refused)
    assert isinstance(proved, Proved)
    assert "(stale info)" in proved.evidence["past_the_program"]
    asleep = Attempt("git push", 128, "fatal: could not read Username")
    assert_not_proved(fencing.refused_by_git_too(Proved("refused"), asleep), "ledger's sake")
    assert_not_proved(fencing.refused_by_git_too(Proved("refused"), Attempt("git push", 0, "")), "git took")
    assert_not_proved(fencing.refused_by_git_too(NotProved("other"), refused), "other")
