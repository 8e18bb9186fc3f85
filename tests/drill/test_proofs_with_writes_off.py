"""Each proof of the demo fails, and says what is missing, where the write that it stands on is switched off."""

from collections.abc import Iterator

import pytest
from story_with_gaps import StoryWithGaps

from app.drill.proof import NotProved, Proved
from app.drill.story import PROOFS

pytestmark = [pytest.mark.drill, pytest.mark.timeout(240)]

MISSING: dict[str, tuple[str, ...]] = {
    # the installation
    "installed": ("no installation of agent-recovery",),
    # the claim's ledger commit
    "claimed": ("refs/agent-recovery/active/42 does not stand",),
    # the agent's fenced push
    "work_pushed": ("the branch ticket/42-ripen-the-apples does not stand",),
    # the App's new pull request, comment, check-run
    "pr_created": ("0 pull requests have the head ticket/42-ripen-the-apples",),
    "comment": ("0 handoff comments on #43",),
    "check": ("no check-run of the App on ",),
    # the SIGKILL
    "killed": ("the agent was not killed",),
    # the SIGKILL of the service; what the new one reads of GitHub
    "service_lost": ("the service was not killed", "has not seen the new process read the index of ledgers"),
    # the second claim's ledger commit; the evidence that comes with a workspace
    "recovered": ("no ledger commit has a lease of generation 2", "generation 2 has not given its evidence"),
    # the second agent's first push, its last push, its `ready`
    "workspace_exact": ("the second agent has pushed nothing",),
    "no_step_redone": ("steps without a commit: 4, 5, 6",),
    "ready": ("the ledger says working, not ready",),
    # the fence: told by the exit code, and shown on GitHub whatever the exit code says
    "zombie_checkpoint": ("not fenced out, it ended with 0", "zombie's checkpoint stands on GitHub"),
    "zombie_push": ("not fenced out, it ended with 0", "the ledger counts another head"),
    "zombie_ready": ("not fenced out, it ended with 0", "zombie's checkpoint stands on GitHub"),
    # the check-run that shows the foreign head
    "plain_push": ("no check-run of the App on the foreign head",),
    # the ledger commit that puts the branch back; the pull request's reopening
    "force_push": ("is not kept under recovered/42/",),
    "branch_deleted": ("the branch ticket/42-ripen-the-apples does not stand", "pull request #43 is closed"),
    # the report
    "ledger_moved_back": ("0 reports, not one",),
    # the App's new pull request for the branch that nobody opened one for
    "missing_pr": ("0 pull requests have the head ticket/44-press-the-cider",),
    # the owner's ruleset
    "base_guarded": ("no rule requires Agent Recovery / release on main",),
    # the last ticket's `ready`
    "both_ready": ("the ledger of #44 says working, not ready",),
    # the merge
    "landed": (" is not merged",),
    # the closing of the first ticket's Issue
    "issues_closed": ("Issue #42 is open",),
    # the last update of the ledger, with the branch in it
    "branches_gone": ("the branch ticket/42-ripen-the-apples still stands",),
    "ledgers_done": ("refs/agent-recovery/active/42 still stands",),
    # the App's new pull request for the release
    "release_draft": ("0 open release PRs of release-1-2-0",),
    # the App's answer
    "release_refused": ("0 answers to '/recovery merge-release'",),
    # the guard's end on the authorized head; its check-run on the new one
    "release_authorized": (" says action_required",),
    "release_void": ("no guard on ",),
    # the merge
    "release_merged": ("no release PR of release-1-2-0 is merged",),
}


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoryWithGaps]:
    played = StoryWithGaps(tmp_path_factory.mktemp("story"))
    try:
        yield played
    finally:
        played.world.stop()


def test_every_proof_has_its_case() -> None:
    assert tuple(MISSING) == PROOFS


@pytest.mark.parametrize("name", MISSING)
def test_a_proof_fails_without_its_write_and_those_before_it_stand(story: StoryWithGaps, name: str) -> None:
    gap = story.without(name)
    assert len(gap.said) == len(MISSING[name])
    for said, words in zip(gap.said, MISSING[name], strict=True):
        assert isinstance(said, NotProved), said
        assert words in said.why
    before = PROOFS[: PROOFS.index(name)]
    assert set(before) <= set(gap.proved), story.failed
    assert {earlier: proof for earlier, proof in gap.still.items() if not isinstance(proof, Proved)} == {}
