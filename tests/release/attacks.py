"""Words for a release that must not count, or must count no more: one row each, on a release of its own.

Each row leaves a release of which somebody might think that it is authorized. Of its people `maya` and `milo` maintain,
`boss` administrates, `wanda` writes.
"""

from collections.abc import Callable

from loop_world import REPO
from release_world import INTO
from scene import Scene

Attack = Callable[[Scene], object]


def _command(s: Scene, sha: str | None = None) -> str:
    return f"/recovery authorize-release {sha or s.head}"


def _by_a_bot(s: Scene) -> None:
    assert s.as_other_app("POST", f"issues/{s.number}/comments", body=_command(s)).is_success


def _through_another_app(s: Scene) -> None:
    client = s.behalf(s.maya)
    client.post(f"/repos/{REPO}/issues/{s.number}/comments", json={"body": _command(s)}).raise_for_status()
    client.close()


def _by_the_only_holder(s: Scene) -> None:
    s.alone()
    s.claimed(s.ticket(), s.maya)
    s.authorize(s.maya)


def _edited(by: Callable[[Scene], str]) -> Attack:
    def attack(s: Scene) -> None:
        comment = s.say(s.maya, _command(s))
        s.world.rest()
        assert s.guard() == "success"
        s.world.as_person(by(s), "PATCH", f"issues/comments/{comment}", body=_command(s) + "\n\nor so")

    return attack


def _edited_and_back(s: Scene) -> None:
    comment = s.say(s.maya, _command(s))
    s.world.rest()
    assert s.guard() == "success"
    for text in ("no", _command(s)):
        s.world.as_person(s.maya, "PATCH", f"issues/comments/{comment}", body=text)


def _deleted(s: Scene) -> None:
    comment = s.say(s.maya, _command(s))
    s.world.rest()
    assert s.guard() == "success"
    s.world.as_person(s.wanda, "DELETE", f"issues/comments/{comment}")


def _edited_before_it_is_heard(s: Scene) -> None:
    """A harmless comment of a maintainer, turned into a word by somebody who may write."""
    comment = s.say(s.maya, "Looks fine to me.")
    s.world.as_person(s.wanda, "PATCH", f"issues/comments/{comment}", body=_command(s))


def _right_removed(s: Scene) -> None:
    who = s.person("maintain")
    s.authorize(who)
    assert s.guard() == "success"
    s.world.emulator.change_repo(REPO, collaborators={who: "write"})


def _right_removed_before_it_is_heard(s: Scene) -> None:
    who = s.person("maintain")
    s.world.emulator.delivery_mode("hold")
    s.say(who, _command(s))
    s.world.emulator.change_repo(REPO, collaborators={who: "read"})
    s.world.emulator.delivery_mode("normal")
    s.world.emulator._post("/deliveries/release")


def _copied_to_another_pull(s: Scene) -> None:
    other = Scene.begun(s.world, f"{s.trunk}-other")
    s.say(s.maya, _command(other))
    other.say(s.maya, _command(s))
    s.world.rest()
    assert other.greens() == []


def _on_a_pull_elsewhere(s: Scene) -> None:
    """The same trunk and commit, on a pull request of a person's into another branch."""
    s.world.branch(f"not-{s.trunk}")
    number = s.world.open_pull(s.trunk, f"not-{s.trunk}")
    s.told(s.maya, _command(s), number)


def _on_an_issue(s: Scene) -> None:
    s.say(s.maya, _command(s), s.ticket())


def _old_commit(s: Scene) -> None:
    old = s.head
    s.world.differ(branch=s.trunk)
    s.world.rest()
    s.authorize(s.maya, old)


def _pushed_after(s: Scene) -> None:
    s.authorize(s.maya)
    assert s.guard() == "success"
    s.world.differ(branch=s.trunk)


def _pushed_and_back(s: Scene) -> None:
    authorized = s.head
    s.authorize(s.maya)
    s.world.differ(branch=s.trunk)
    s.world.rest()
    s.world.as_person(s.wanda, "PATCH", f"git/refs/heads/{s.trunk}", sha=authorized, force=True)


def _empty_commit_after(s: Scene) -> None:
    s.authorize(s.maya)
    s.world.empty_commit(s.trunk)


def _base_changed_and_back(s: Scene) -> None:
    s.authorize(s.maya)
    s.world.branch(f"else-{s.trunk}")
    s.world.as_person(s.wanda, "PATCH", f"pulls/{s.number}", base=f"else-{s.trunk}")
    s.world.rest()
    (pull,) = s.world.pulls("open", head=s.trunk)
    if pull["base"]["ref"] != INTO:
        s.world.as_person(s.wanda, "PATCH", f"pulls/{pull['number']}", base=INTO)


def _revoked(s: Scene) -> None:
    s.authorize(s.maya)
    assert s.guard() == "success"
    s.told(s.milo, "/recovery revoke-release")


def _others_checks(s: Scene) -> None:
    s.green_run()
    s.world.as_person(s.wanda, "POST", f"statuses/{s.head}", state="success", context="Agent Recovery / release")
    s.as_other_app("POST", f"statuses/{s.head}", state="success", context="Agent Recovery / release")


def _reviewed(s: Scene) -> None:
    s.mutate(s.maya, "markPullRequestReadyForReview")
    s.world.as_person(s.maya, "POST", f"pulls/{s.number}/reviews", event="APPROVE", body=_command(s))


def _one_twice(s: Scene) -> None:
    s.told_by(f"release:\n  into: {INTO}\n  approvals: 2")
    s.authorize(s.maya)
    s.authorize(s.maya)
    assert s.greens() == []


def _last_pusher(s: Scene) -> None:
    s.told_by(f"release:\n  into: {INTO}\n  not_last_pusher: true")
    s.world.differ(branch=s.trunk, who=s.maya)
    s.world.rest()
    s.authorize(s.maya)
    assert s.greens() == []


def _of_no_team(s: Scene) -> None:
    s.world.emulator.team("acme", "release-crew", members=[s.milo], invited=[s.maya])
    s.told_by(f'release:\n  into: {INTO}\n  authorizers: ["@acme/release-crew"]')
    s.authorize(s.boss)
    s.authorize(s.maya)
    assert s.greens() == []


def _out_of_the_team(s: Scene) -> None:
    s.world.emulator.team("acme", "leavers", members=[s.wanda])
    s.told_by(f'release:\n  into: {INTO}\n  authorizers: ["@acme/leavers"]')
    s.authorize(s.wanda)
    assert s.guard() == "success"
    s.world.emulator.team("acme", "leavers", members=[])


def _by(role: str) -> Attack:
    return lambda s: s.told(s.person(role), _command(s))


def _text(text: str) -> Attack:
    return lambda s: s.say(s.maya, text.format(head=s.head, short=s.head[:10], other=s.world.head(INTO)))


NOT_COUNTED: dict[str, Attack] = {
    "by a bot": _by_a_bot,
    "through another App": _through_another_app,
    "by a writer": _by("write"),
    "by a reader": _by("read"),
    "by a stranger": _by("none"),
    "by the only one who worked in it": _by_the_only_holder,
    "by somebody whose right was removed before": _right_removed_before_it_is_heard,
    "by somebody of no team": _of_no_team,
    "by the last pusher": _last_pusher,
    "by one person twice where two are asked for": _one_twice,
    "a comment edited into a word": _edited_before_it_is_heard,
    "copied to another pull request": _copied_to_another_pull,
    "on a pull request into another branch": _on_a_pull_elsewhere,
    "on an Issue": _on_an_issue,
    "in a review": _reviewed,
    "of an old commit": _old_commit,
    "of a short commit": _text("/recovery authorize-release {short}"),
    "of no commit": _text("/recovery authorize-release"),
    "of the base's commit": _text("/recovery authorize-release {other}"),
    "of two commits": _text("/recovery authorize-release {head} {other}\n/recovery authorize-release {other}"),
    "quoted": _text("> /recovery authorize-release {head}\n\nDo not do that."),
    "in code": _text("    /recovery authorize-release {head}\n\n```\n/recovery authorize-release {head}\n```"),
    "checks of others under the guard's name": _others_checks,
}
"""What never counts."""

COUNTED_NO_MORE: dict[str, Attack] = {
    "edited by its author": _edited(lambda s: s.maya),
    "edited by another": _edited(lambda s: s.wanda),
    "edited and back": _edited_and_back,
    "deleted": _deleted,
    "a right that was removed": _right_removed,
    "a team that was left": _out_of_the_team,
    "a push": _pushed_after,
    "a push and back": _pushed_and_back,
    "an empty commit": _empty_commit_after,
    "another base and back": _base_changed_and_back,
    "revoked": _revoked,
}
"""What counted, and then no more."""
SEEN_LATER = frozenset({"a right that was removed", "a team that was left"})
"""No event tells the App of these."""
