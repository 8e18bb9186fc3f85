"""Each proof fails while the one write it is about has not happened, and only then."""

from pathlib import Path

import pytest
from drill_scene import BRANCH, TRUNK, Scene

from app.drill import proofs_of_work as proofs
from app.drill.proof import NotProved, Proof, Proved


def assert_not_proved(proof: Proof, *words: str) -> None:
    assert isinstance(proof, NotProved), proof
    for word in words:
        assert word in proof.why


def assert_proved(proof: Proof) -> Proved:
    assert isinstance(proof, Proved), proof
    assert proof.evidence
    return proof


def test_installed_needs_an_installation(scene: Scene) -> None:
    assert_not_proved(proofs.installed(scene.observer, scene.place), "no installation")
    scene.install()
    evidence = assert_proved(proofs.installed(scene.observer, scene.place)).evidence
    assert evidence["installation_id"]
    assert evidence[TRUNK]


def test_claimed_needs_a_lease_in_the_ledger(scene: Scene) -> None:
    assert_not_proved(proofs.claimed(scene.observer, scene.place, generation=1), "does not stand")
    scene.write_ledger("birth")
    assert_not_proved(proofs.claimed(scene.observer, scene.place, generation=1), "no ledger commit has a lease")
    commit = scene.claim(1)
    assert assert_proved(proofs.claimed(scene.observer, scene.place, generation=1)).evidence["ledger_commit"] == commit


def test_work_pushed_needs_branch_and_ledger(scene: Scene) -> None:
    scene.claim(1)
    assert_not_proved(proofs.work_pushed(scene.observer, scene.place, generation=1), "does not stand")
    scene.work("1")
    scene.push()
    assert_not_proved(proofs.work_pushed(scene.observer, scene.place, generation=1), "published")
    head = scene.publish(steps=("1",))
    assert assert_proved(proofs.work_pushed(scene.observer, scene.place, generation=1)).evidence["head"] == head


def test_work_published_by_an_old_lease_is_not_pushed_work(scene: Scene) -> None:
    scene.begin("1")
    scene.claim(2)
    assert_not_proved(proofs.work_pushed(scene.observer, scene.place, generation=2), "published")


def test_pr_created_needs_a_draft_by_the_app(scene: Scene) -> None:
    scene.install()
    scene.begin("1")
    assert_not_proved(proofs.pr_created(scene.observer, scene.place), "0 pull requests")
    pull = scene.open_pull()
    assert assert_proved(proofs.pr_created(scene.observer, scene.place)).evidence["number"] == pull.number


def test_comment_needs_the_whole_checkpoint_of_a_ledger_commit(scene: Scene) -> None:
    scene.install()
    scene.begin("1")
    pull = scene.open_pull()
    assert_not_proved(proofs.comment(scene.observer, scene.place), "0 handoff comments")
    made = pull.create_issue_comment("<!-- agent-recovery:handoff:1 -->\n" + scene.checkpoint_text())
    assert assert_proved(proofs.comment(scene.observer, scene.place)).evidence["comment_id"] == made.id
    made.edit(scene.checkpoint_text().replace('"x"', '"y"'))
    assert_not_proved(proofs.comment(scene.observer, scene.place), "that of no ledger commit")


def test_check_needs_a_run_that_names_the_ledger(scene: Scene) -> None:
    scene.install()
    head = scene.begin("1")
    assert_not_proved(proofs.check(scene.observer, scene.place), "no check-run")
    run = scene.show_check(head)
    assert assert_proved(proofs.check(scene.observer, scene.place)).evidence["check_run_id"] == run


@pytest.mark.parametrize(
    ("exit_code", "commit", "edit", "why"),
    [(0, True, True, "SIGKILL"), (-9, False, True, "no unpushed commit"), (-9, True, False, "no uncommitted edit")],
)
def test_killed_needs_a_death_amid_unpushed_work(
    scene: Scene, exit_code: int, commit: bool, edit: bool, why: str
) -> None:
    pushed = scene.begin("1")
    if commit:
        scene.work("2")
    if edit:
        (scene.workspace / "step-3.txt").write_text("half")
    assert_not_proved(proofs.killed(scene.observer, scene.place, proofs.Death(exit_code, scene.workspace, pushed)), why)


def test_killed_is_proved_by_what_the_workspace_alone_has(scene: Scene) -> None:
    pushed = scene.begin("1")
    unpushed = scene.work("2")
    (scene.workspace / "step-3.txt").write_text("half")
    death = proofs.Death(-9, scene.workspace, pushed)
    assert assert_proved(proofs.killed(scene.observer, scene.place, death)).evidence["unpushed"] == [unpushed]


def test_service_lost_needs_the_new_process_to_have_read_the_active_index(scene: Scene) -> None:
    scene.begin("1")
    read = "/acme/orchard.git/git-upload-pack"

    def lost(*reads: str, exit_code: int = -9, gone: bool = True) -> Proof:
        loss = proofs.ServiceLoss(exit_code, gone, old_pid=1, new_pid=2, reads_since=reads)
        return proofs.service_lost(scene.observer, scene.place, loss)

    assert_not_proved(lost(), "index of ledgers in progress")
    assert_not_proved(lost(read, exit_code=0), "SIGKILL")
    assert_not_proved(lost(read, gone=False), "not deleted")
    assert_proved(lost(read))


def test_recovered_needs_the_evidence_of_the_new_lease(scene: Scene) -> None:
    published = scene.begin("1")
    before = scene.standing_ledger()

    def look() -> Proof:
        return proofs.recovered(scene.observer, scene.place, before=before, published=published)

    assert_not_proved(look(), "generation 2")
    scene.claim(2)
    assert_not_proved(look(), "evidence")
    scene.publish(steps=("1",))
    assert assert_proved(look()).evidence["generation"] == 2


def test_workspace_exact_needs_a_workspace_that_began_at_the_pushed_head(scene: Scene, tmp_path: Path) -> None:
    published = scene.begin("1")
    left_behind = scene.work("2")

    def look(workspace: Path) -> Proof:
        return proofs.workspace_exact(
            scene.observer, scene.place, workspace=workspace, published=published, left_behind=[left_behind]
        )

    scene.push()
    assert_not_proved(look(scene.workspace), "began at")
    scene.push(f"+{published}:refs/heads/{BRANCH}")
    scene.git("reset", "--quiet", "--hard", published)
    scene.git("checkout", "--quiet", "--detach")
    scene.git("branch", "--quiet", "-D", BRANCH)
    scene.git("checkout", "--quiet", "-b", BRANCH)
    assert_not_proved(look(scene.workspace), "pushed nothing yet")
    first = scene.work("2", text="done afresh")
    scene.push()
    assert assert_proved(look(scene.workspace)).evidence["first_commit"] == first


def test_no_step_redone_needs_one_commit_a_step(scene: Scene) -> None:
    first = scene.begin("1")

    def look() -> Proof:
        return proofs.no_step_redone(scene.observer, scene.place, steps=("1", "2"), done_before=[first])

    assert_not_proved(look(), "steps without a commit: 2")
    scene.work("2")
    scene.push()
    assert_proved(look())
    scene.work("1", text="done again")
    scene.push()
    assert_not_proved(look(), "more than one commit: 1")


def test_no_step_redone_sees_rewritten_commits(scene: Scene) -> None:
    first = scene.begin("1")
    scene.git("commit", "--quiet", "--amend", "-m", "Do step 1 over\n\nStep: 1")
    scene.work("2")
    scene.push(f"+HEAD:refs/heads/{BRANCH}")
    assert_not_proved(
        proofs.no_step_redone(scene.observer, scene.place, steps=("1", "2"), done_before=[first]), "not on the branch"
    )


def test_ready_needs_a_sealed_ready_for_the_head(scene: Scene) -> None:
    scene.install()
    head = scene.begin("1", "2")
    pull = scene.open_pull()
    comment = pull.create_issue_comment("<!-- agent-recovery:handoff:1 -->\n" + scene.checkpoint_text())
    scene.show_check(head)

    def look() -> Proof:
        return proofs.ready(scene.observer, scene.place, generation=1, steps=("1", "2"))

    assert_not_proved(look(), "working")
    scene.write_ledger("checkpoint", status="ready")
    assert_not_proved(look(), "the check-run still shows sequence")
    scene.show_check(head)
    assert_proved(look())
    comment.delete()
    assert_not_proved(look(), "0 handoff comments")
    pull.create_issue_comment("<!-- agent-recovery:handoff:1 -->\n" + scene.checkpoint_text())
    assert_proved(look())
    scene.work("3")
    scene.push()
    assert_not_proved(look(), "not what the branch shows")
