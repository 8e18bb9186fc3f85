"""Everything that could be tried to get a release merged without a live authorization of its head: one row each.

A row changes the world, and nothing else is asked of it: afterwards nothing may have come into the base of releases.
No ruleset guards the base here and the policy accepts that, so nothing but the App itself is in the way.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import httpx
from loop_world import REPO
from release_world import INTO, TRUNK
from scene import Scene

Attempt = Callable[[Scene], object]

VERBS: dict[str, str] = {
    "help": "/recovery help",
    "status": "/recovery status",
    "recover": "/recovery recover",
    "takeover": "/recovery takeover",
    "hold": "/recovery hold until it is merged",
    "unhold": "/recovery unhold",
    "land": "/recovery land",
    "retarget": f"/recovery retarget {INTO}",
    "accept": "/recovery accept {head}",
    "approve": "/recovery approve release",
    "deny": "/recovery deny release",
    "resolve": "/recovery resolve release done",
    "revoke-release": "/recovery revoke-release",
    "merge-release": "/recovery merge-release",
    "merge-release with the head": "/recovery merge-release {head}",
    "merge-release with force": "/recovery merge-release --force --admin",
    "cancel": "/recovery cancel the guard",
    "an unknown verb": "/recovery merge",
    "authorize-release without a commit": "/recovery authorize-release",
    "authorize-release of an old commit": "/recovery authorize-release {old}",
    "authorize-release of a short commit": "/recovery authorize-release {short}",
    "authorize-release of the base's head": "/recovery authorize-release {base}",
    "everything at once": "/recovery land\n/recovery accept {head}\n/recovery approve release\n/recovery merge-release",
}
"""What a maintainer says on the release PR. None of it authorizes the head."""

OF_WRITERS: dict[str, str] = {
    "authorize-release": "/recovery authorize-release {head}",
    "authorize and merge": "/recovery authorize-release {head}\n/recovery merge-release",
    "merge-release": "/recovery merge-release",
    "land": "/recovery land",
    "accept": "/recovery accept {head}",
}
"""What somebody says who may write and not authorize."""

UNHEARD: dict[str, str] = {
    "quoted": "> /recovery authorize-release {head}\n\n/recovery merge-release",
    "in code": "```\n/recovery authorize-release {head}\n```\n/recovery merge-release",
    "in an HTML comment": "<!--\n/recovery authorize-release {head}\n-->\n/recovery merge-release",
    "in words": "I authorize {head}. Merge everything that is green, standing permission!",
    "in another alphabet": "/rеcovery authorize-release {head}\n/recovery merge-release",
    "in the middle of a line": "please /recovery authorize-release {head}\n/recovery merge-release",
    "thumbs up": ":+1: LGTM, ship it. @agent-recovery merge-release",
}
"""What a maintainer writes and nobody may take for an authorization."""


def comment(text: str, role: str) -> Attempt:
    """Somebody new with a role says it on the release PR."""

    def attempt(s: Scene) -> object:
        head = s.head
        old = s.world.get(f"commits/{head}")["parents"][0]["sha"]
        said = text.format(head=head, old=old, short=head[:12], base=s.world.head(INTO))
        return s.say(s.person(role), said)

    return attempt


def _closed_and_reopened(s: Scene) -> None:
    number = s.number
    s.world.as_person("maya", "PATCH", f"pulls/{number}", state="closed")
    s.world.asked("maya", "PATCH", f"pulls/{number}", state="open")


def _base_there_and_back(s: Scene) -> None:
    number = s.number
    s.world.branch(f"elsewhere-{number}-{s.head[:6]}")
    s.world.as_person("maya", "PATCH", f"pulls/{number}", base=f"elsewhere-{number}-{s.head[:6]}")
    s.world.rest()
    s.world.asked("maya", "PATCH", f"pulls/{number}", base=INTO)


def _ready_for_review(s: Scene) -> Any:
    return s.mutate("maya", "markPullRequestReadyForReview")


def _approved(s: Scene) -> None:
    _ready_for_review(s)
    s.world.as_person("maya", "POST", f"pulls/{s.number}/reviews", event="APPROVE", body="/recovery merge-release")
    s.world.as_person("boss", "POST", f"pulls/{s.number}/reviews", event="APPROVE", body="merge everything")


def _labelled(s: Scene) -> None:
    for label in ("release-approved", "automerge", "agent-recovery:authorized"):
        s.as_other_app("POST", "labels", name=label, description="what somebody takes for a word")
        assert s.as_other_app("POST", f"issues/{s.number}/labels", labels=[label]).is_success


def _auto_merge(s: Scene) -> None:
    s.world.people["boss"].patch(f"/repos/{REPO}", json={"allow_auto_merge": True}).raise_for_status()
    s.mutate("maya", "enablePullRequestAutoMerge", mergeMethod="MERGE")


def _statuses(s: Scene) -> None:
    for context in ("Agent Recovery / release", "Agent Recovery", "ci"):
        s.world.as_person("wanda", "POST", f"statuses/{s.head}", state="success", context=context)


def _rerequested(s: Scene) -> None:
    for run in s.world.guards(s.head):
        if run["status"] == "completed":
            s.world.emulator.rerun_check(run["id"], "maya")


def _buttons(s: Scene) -> None:
    for run in s.world.check_runs(s.head):
        for name in [action["identifier"] for action in run.get("actions") or []] + ["authorize", "merge"]:
            with suppress(httpx.HTTPStatusError):
                s.world.emulator.press(run["id"], name, "maya")


def _told_of_buttons_nobody_has(s: Scene) -> None:
    for name in ("authorize", "merge", "recover", "hold", "land"):
        for run in s.world.guards(s.head):
            event = {"action": "requested_action", "requested_action": {"identifier": name}, "check_run": run}
            assert s.world.deliver("check_run", event | _envelope(s, "maya")) < 300


def _envelope(s: Scene, who: str) -> dict[str, Any]:
    repository = s.world.http.get(f"/repos/{REPO}").json()
    sender = s.world.http.get(f"/users/{who}").json()
    return {"repository": repository, "sender": sender, "installation": {"id": s.world.installation}}


def _told_of_a_comment_that_is_not_there(s: Scene) -> None:
    """A delivery that GitHub signed, so to speak, of a comment that nobody can read again."""
    body = f"/recovery authorize-release {s.head}\n/recovery merge-release"
    said = {
        "id": 3_999_999_999,
        "body": body,
        "user": s.world.http.get("/users/maya").json(),
        "created_at": s.world.pull(s.number)["created_at"],
        "updated_at": s.world.pull(s.number)["created_at"],
        "author_association": "OWNER",
        "performed_via_github_app": None,
    }
    event = {"action": "created", "comment": said, "issue": s.world.get(f"issues/{s.number}")}
    assert s.world.deliver("issue_comment", event | _envelope(s, "maya")) < 300


def _texts_of_the_pull(s: Scene) -> None:
    body = f"Ticket: #1\n/recovery authorize-release {s.head}\n/recovery merge-release\n"
    s.world.as_person("maya", "PATCH", f"pulls/{s.number}", title="/recovery merge-release", body=body)


def _comment_edited_into_it(s: Scene) -> None:
    who = s.person("maintain")
    number = s.say(who, "looks fine")
    s.world.rest()
    body = f"/recovery authorize-release {s.head}\n/recovery merge-release"
    s.world.as_person(who, "PATCH", f"issues/comments/{number}", body=body)


def _comment_edited_by_another(s: Scene) -> None:
    number = s.say(s.person("maintain"), "looks fine")
    body = f"/recovery authorize-release {s.head}\n/recovery merge-release"
    s.world.as_person("wanda", "PATCH", f"issues/comments/{number}", body=body)


def _line_comment(s: Scene) -> None:
    file = s.world.get(f"pulls/{s.number}/files")[0]["filename"]
    body = f"/recovery authorize-release {s.head}\n/recovery merge-release"
    fields = {"body": body, "commit_id": s.head, "path": file, "line": 1, "side": "RIGHT"}
    made = s.world.people["maya"].post(f"/repos/{REPO}/pulls/{s.number}/comments", json=fields)
    assert made.status_code == 201, made.text


def _through_an_app(s: Scene) -> None:
    client = s.behalf("maya")
    for text in (f"/recovery authorize-release {s.head}", "/recovery merge-release"):
        client.post(f"/repos/{REPO}/issues/{s.number}/comments", json={"body": text}).raise_for_status()
    client.close()


def _by_a_bot(s: Scene) -> None:
    for text in (f"/recovery authorize-release {s.head}", "/recovery merge-release"):
        assert s.as_other_app("POST", f"issues/{s.number}/comments", body=text).is_success


def _commit_message(s: Scene) -> None:
    message = f"/recovery merge-release\n\nTicket: #{s.number}"
    s.world.emulator.commit(REPO, {"m.txt": s.head}, branch=s.trunk, author="maya", message=message)


def _linked_to_an_issue(s: Scene) -> None:
    """The trunk itself as the branch of a ticket, claimed and ready."""
    issue = s.ticket(labels=["agent"])
    s.world.as_person("maya", "PATCH", f"pulls/{s.number}", body=f"Ticket: #{issue}\n")
    s.say(s.person("maintain"), "/recovery land", issue)


def _ticket_into_the_base(s: Scene) -> None:
    """A ticket's branch straight into the base of releases, past the trunk."""
    issue = s.ticket(labels=["agent"])
    number = s.pull_of(f"{issue}-past", INTO, f"Ticket: #{issue}\n")
    for text in ("/recovery land", f"/recovery retarget {INTO}", "/recovery merge-release"):
        s.say(s.person("maintain"), text, number)


def _ready_ticket_sent_there(s: Scene) -> None:
    """A ticket that is ready to land on its trunk, sent into the base of releases at the last moment."""
    issue = s.ticket()
    agent = s.ready(issue)
    s.say(s.person("maintain"), f"/recovery retarget {INTO}", issue)
    (pull,) = s.world.get(f"pulls?state=open&head=acme:{agent.grant.branch}") or [None]
    if pull is not None:
        s.world.asked("maya", "PATCH", f"pulls/{pull['number']}", base=INTO)
    s.say(s.person("maintain"), "/recovery land", issue)


def _stacked_on_the_release(s: Scene) -> None:
    """A native stack of the release and a ticket above it: GitHub merges all that is below what it merges."""
    issue = s.ticket("Stacked on the release")
    agent = s.claimed(issue)
    agent.push("stacked")
    s.world.rest()
    (pull,) = s.world.get(f"pulls?state=open&head=acme:{agent.grant.branch}")
    _ready_for_review(s)
    numbers = {"pull_requests": [s.number, pull["number"]]}
    s.world.people["wanda"].post(f"/repos/{REPO}/stacks", json=numbers).raise_for_status()
    s.say_ready(agent)
    s.say(s.person("maintain"), "/recovery land", issue)
    s.world.rest()
    for stack in s.world.get("stacks"):
        s.world.people["wanda"].post(f"/repos/{REPO}/stacks/{stack['number']}/unstack")


def _many_tickets_land(s: Scene) -> None:
    """Landing in bulk moves the trunk, and takes nothing further with it."""
    for step in ("one", "two", "three"):
        issue = s.ticket(f"Bulk {step}")
        s.ready(issue, f"bulk-{step}-{issue}")
    s.say(s.person("maintain"), "/recovery land\n/recovery merge-release")


def _replayed(s: Scene) -> None:
    for delivery in s.world.emulator.deliveries()[-60:]:
        s.world.deliver(delivery["event"], delivery["payload"])


def _redelivered(s: Scene) -> None:
    for delivery in s.world.emulator.deliveries()[-40:]:
        s.world.emulator.replay(delivery_id=delivery["id"])


def _many_people(s: Scene) -> None:
    for _ in range(6):
        s.say(s.person("write"), f"/recovery authorize-release {s.head}\n/recovery merge-release")


def _many_comments(s: Scene) -> None:
    who = s.person("write")
    for _ in range(12):
        s.say(who, "/recovery merge-release")


def _many_trunks(s: Scene) -> None:
    for name in ("release-7-1", "release-7-2", "release-7-3"):
        s.world.trunk(name)
    s.world.rest()
    for name in ("release-7-1", "release-7-2", "release-7-3"):
        s.say(s.person("maintain"), "/recovery merge-release", int(s.world.release_pull(name)["number"]))


def _the_same_commit_on_two_trunks(s: Scene) -> None:
    s.world.branch("release-8-1", of=s.trunk)
    s.world.rest()
    s.say(s.person("maintain"), f"/recovery merge-release {s.head}", int(s.world.release_pull("release-8-1")["number"]))


def _trunk_gone_and_back(s: Scene) -> None:
    head = s.head
    s.world.as_person("wanda", "DELETE", f"git/refs/heads/{s.trunk}")
    s.world.rest()
    s.world.as_person("wanda", "POST", "git/refs", ref=f"refs/heads/{s.trunk}", sha=head)


def _foreign_pull(s: Scene) -> None:
    name = f"topic-{s.head[:8]}"
    number = s.pull_of(name, INTO)
    s.say(s.person("maintain"), f"/recovery authorize-release {s.world.head(name)}\n/recovery merge-release", number)


def _queue(s: Scene) -> None:
    """A merge queue on the base, and the release in it."""
    queue = {
        "check_response_timeout_minutes": 60,
        "grouping_strategy": "ALLGREEN",
        "max_entries_to_build": 5,
        "max_entries_to_merge": 5,
        "merge_method": "MERGE",
        "min_entries_to_merge": 1,
        "min_entries_to_merge_wait_minutes": 0,
    }
    number = s.world.require_guard(name="queue", rules=[{"type": "merge_queue", "parameters": queue}])
    s.world.require_guard(name="guard")
    _ready_for_review(s)
    s.mutate("maya", "enqueuePullRequest")
    s.world.rest()
    for ruleset in s.world.as_person("boss", "GET", "rulesets"):
        if ruleset["id"] != number:
            continue
        s.world.as_person("boss", "DELETE", f"rulesets/{ruleset['id']}")


def _start_up(s: Scene) -> None:
    s.world.restart()


def _start_up_without_a_database(s: Scene) -> None:
    s.world.restart(database=False)


def _suspended_and_back(s: Scene) -> None:
    s.world.emulator.change_installation(s.world.installation, suspended=True)
    s.world.differ(branch=s.trunk)
    s.world.emulator.change_installation(s.world.installation, suspended=False)


def _a_day_later(s: Scene) -> None:
    s.world.emulator.advance(6 * 60)


TRIGGERS: dict[str, Attempt] = {
    "a push to the trunk": lambda s: s.world.differ(branch=s.trunk),
    "an empty commit": lambda s: s.world.empty_commit(s.trunk),
    "a merge of the base into the trunk": lambda s: s.world.asked("wanda", "POST", "merges", base=s.trunk, head=INTO),
    "ready for review": _ready_for_review,
    "approved by everybody": _approved,
    "labels of another App": _labelled,
    "a green check-run of another App": lambda s: s.green_run(),
    "green commit statuses": _statuses,
    "auto-merge": _auto_merge,
    "a draft again, and ready": lambda s: (s.mutate("maya", "convertPullRequestToDraft"), _ready_for_review(s)),
    "closed and reopened": _closed_and_reopened,
    "another base and back": _base_there_and_back,
    "re-run of the guard": _rerequested,
    "the buttons of all check-runs": _buttons,
    "buttons that no check-run has": _told_of_buttons_nobody_has,
    "a comment that is not there": _told_of_a_comment_that_is_not_there,
    "title and body of the PR": _texts_of_the_pull,
    "a comment edited into a command": _comment_edited_into_it,
    "a comment edited by another": _comment_edited_by_another,
    "a comment on a line": _line_comment,
    "comments through another App": _through_an_app,
    "comments of a bot": _by_a_bot,
    "a commit message": _commit_message,
    "an Issue that claims the PR": _linked_to_an_issue,
    "a ticket's PR into the base": _ticket_into_the_base,
    "a ready ticket sent into the base": _ready_ticket_sent_there,
    "a foreign PR into the base": _foreign_pull,
    "the trunk gone and back": _trunk_gone_and_back,
    "assigned to everybody": lambda s: s.world.as_person(
        "maya", "POST", f"issues/{s.number}/assignees", assignees=["maya", "milo"]
    ),
    "a review asked for": lambda s: s.world.asked(
        "maya", "POST", f"pulls/{s.number}/requested_reviewers", reviewers=["milo"]
    ),
    "start-up": _start_up,
    "start-up without a database": _start_up_without_a_database,
    "time": _a_day_later,
    "suspended and back": _suspended_and_back,
}

_RELEASE = f"release:\n  into: {INTO}\n"
POLICIES: dict[str, Attempt] = {
    "the base is a trunk": lambda s: s.policy(f"trunks: [release-*, {INTO}]"),
    "everything is a trunk": lambda s: s.policy('trunks: ["*", "**"]'),
    "nothing is a trunk": lambda s: s.policy("trunks: [nothing]"),
    "the trunk is the base": lambda s: s.policy(f"release:\n  into: {TRUNK}"),
    "the base is nowhere": lambda s: s.policy("release:\n  into: nowhere"),
    "exclusive": lambda s: s.policy(_RELEASE + "  exclusive: true"),
    "the trunk is an exception": lambda s: s.policy(_RELEASE + "  exclusive: true", f"main_exceptions: [{TRUNK}]"),
    "everything is an exception": lambda s: s.policy(_RELEASE + "  exclusive: true", 'main_exceptions: ["*", "**"]'),
    "nobody authorizes": lambda s: s.policy(_RELEASE + "  authorizers: []"),
    "a team that is not there": lambda s: s.policy(_RELEASE + '  authorizers: ["@acme/nobody"]'),
    "the App authorizes": lambda s: s.policy(_RELEASE + "  authorizers: [agent-recovery]"),
    "no approvals": lambda s: s.policy(_RELEASE + "  approvals: 0"),
    "for ever": lambda s: s.policy(_RELEASE + "  expires: 3650d"),
    "any check": lambda s: s.policy("landing:\n  checks: [Agent Recovery / release]\n  unguarded_base: accept"),
    "squash": lambda s: s.policy("landing:\n  checks: none\n  unguarded_base: accept\n  method: squash"),
    "every branch is a ticket": lambda s: s.policy("enroll:\n  branch: true\n  label: agent"),
    "keys that there are not": lambda s: s.policy("release:\n  auto: true\n  merge: always\n  guard: off"),
    "observe": lambda s: s.policy(mode="observe"),
    "repair": lambda s: s.policy(mode="repair"),
    "not to be read": lambda s: s.world.policy("version: [\n"),
    "none at all": lambda s: s.world.policy(None),
}

BULK: dict[str, Attempt] = {
    "a native stack on the release": _stacked_on_the_release,
    "many tickets land": _many_tickets_land,
    "many people": _many_people,
    "many comments of one": _many_comments,
    "many trunks": _many_trunks,
    "one commit on two trunks": _the_same_commit_on_two_trunks,
    "every delivery again, under new ids": _replayed,
    "every delivery again": _redelivered,
    "a merge queue": _queue,
}

WORDS: dict[str, Attempt] = {
    **{f"a maintainer says {name}": comment(text, "maintain") for name, text in VERBS.items()},
    **{f"a writer says {name}": comment(text, "write") for name, text in OF_WRITERS.items()},
    **{f"a maintainer writes it {name}": comment(text, "maintain") for name, text in UNHEARD.items()},
    "a reader authorizes": comment("/recovery authorize-release {head}\n/recovery merge-release", "read"),
    "a stranger merges": comment("/recovery merge-release", "none"),
    "an administrator merges": comment("/recovery merge-release", "admin"),
}
