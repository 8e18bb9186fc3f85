"""Sealed bodies as witnesses: believed only with our seal over these very bytes, for this ticket of this repository."""

import dataclasses
import json
import re
from collections.abc import Callable
from typing import Any

import httpx
from loop_world import PERMISSIONS, REPO, LoopWorld

from app.controller.keyring import Keyring
from app.controller.view import View
from app.controller.witnessing import Witnessing
from app.domain.handoff_marker import marker_of
from app.domain.observation import Comment
from app.domain.report import Frozen
from app.domain.sealed_body import block, body_preimage, parse
from app.ledger.reading import Absent
from app.service.keys import new_keys, parse_lease_keys, parse_seal_keys


async def _view(world: LoopWorld) -> View:
    """A ticket in its ordinary state, seen without check-runs, so that comments alone can remember anything."""
    controller, _, _ = await world.published()
    view = await controller._views.look("acme", "shop", world.ticket)
    return dataclasses.replace(view, observation=dataclasses.replace(view.observation, check_runs=()))


def _told(view: View) -> Comment:
    (comment,) = view.observation.pulls[0].comments
    return comment


async def _verdict(world: LoopWorld, view: View, body: str) -> Frozen | None:
    """What a service with an empty table says about a missing ledger, where only this comment is left."""
    comment = dataclasses.replace(_told(view), body=body)
    pull = dataclasses.replace(view.observation.pulls[0], comments=(comment,))
    observation = dataclasses.replace(view.observation, pulls=(pull,))
    controller = world.controller()
    witnessing: Witnessing = controller._views._witnessing
    return await witnessing.judge(view.repo, view.ledger, view.ticket, Absent(), observation)


def _sealed(world: LoopWorld, body: str, keys: Keyring | None = None, **changes: object) -> str:
    """A body with other fields, sealed anew: as our service would write it about something else."""
    known = parse(body)
    assert known is not None
    payload = json.dumps(known.fields | changes, sort_keys=True, separators=(",", ":"))
    return block(payload, (keys or world.keys).sealer.seal(body_preimage(payload)))


async def test_our_own_body_is_a_witness(world: LoopWorld) -> None:
    view = await _view(world)
    body = _told(view).body
    assert view.standing is not None
    for shown in (body, f"{body}\nthanks!", body.replace("\n", "\r\n"), _sealed(world, body)):
        verdict = await _verdict(world, view, shown)
        assert verdict is not None
        assert view.standing.entry.sha in verdict.expected


def _other_keys() -> Keyring:
    made = new_keys().settings()
    seals, leases = made["AGENT_RECOVERY_SEAL_KEYS"], made["AGENT_RECOVERY_LEASE_KEYS"]
    return Keyring(parse_seal_keys(seals), parse_lease_keys(leases))


def _renamed_keys(world: LoopWorld) -> Keyring:
    """Keys of a stranger under the name of ours."""
    (kid,) = world.keys.seal_keys
    return Keyring({kid: next(iter(_other_keys().seal_keys.values()))}, {})


FAKES: dict[str, Callable[[LoopWorld, str], str]] = {
    "another ticket's": lambda world, body: _sealed(world, body, ticket=world.ticket + 1),
    "another repository's": lambda world, body: _sealed(world, body, repository_id=1),
    "another service's": lambda world, body: _sealed(world, body, _other_keys()),
    "another service's under our key's name": lambda world, body: _sealed(world, body, _renamed_keys(world)),
    "one with an edited sequence": lambda world, body: re.sub(r'"sequence":\d+', '"sequence":99', body),
    "one with an edited step": lambda world, body: body.replace('"text":"more"', '"text":"less"'),
    "one with a payload more": lambda world, body: _with_second_payload(body),
    "one with another's seal": lambda world, body: _with_seal_of(body, _sealed(world, body, sequence=99)),
    "one without a seal": lambda world, body: re.sub("<!-- seal .* -->", "", body),
    "one with the seal of a ledger commit's form": lambda world, body: re.sub(
        "<!-- seal .{9}", "<!-- seal hmac:x:", body
    ),
    "one of a newer form": lambda world, body: _sealed(world, body, sequence={"n": 9}),
}


def _with_second_payload(body: str) -> str:
    second = re.sub(r'"sequence":\d+', '"sequence":99', body)
    return body[: body.index("<details>")] + body[body.index("<details>") :].replace(
        "</details>", second[second.index("```json") : second.index("</details>")] + "</details>", 1
    )


def _with_seal_of(body: str, other: str) -> str:
    found = re.search("<!-- seal .* -->", other)
    assert found is not None
    return re.sub("<!-- seal .* -->", found[0], body)


async def test_a_body_that_is_not_ours_about_this_ticket_is_no_witness(world: LoopWorld) -> None:
    view = await _view(world)
    body = _told(view).body
    for name, fake in FAKES.items():
        shown = fake(world, body)
        assert shown != body, name
        assert await _verdict(world, view, shown) is None, name


async def test_our_body_of_another_ticket_put_into_a_comment_by_a_person_is_written_over(world: LoopWorld) -> None:
    controller, agent, _ = await world.published()
    for step in ("two", "three"):
        agent.push(step)
        await world.settle(controller)
    (first,) = _comments(world, agent.grant.ticket)
    world.ticket = world.emulator.issue(REPO, "Pick the pears", author="wanda")["number"]
    other = world.agent(await world.claim(controller))
    other.push("one")
    await world.settle(controller)
    marker = marker_of(world.ticket)
    # The whole text of the further ticket, and its machine-readable part alone below this ticket's own marker.
    for body in (first["body"], f"{marker}\n{first['body'].partition('<details>')[2]}", "gone", first["body"][:900]):
        (second,) = _comments(world, world.ticket)
        world.http.patch(f"/repos/{REPO}/issues/comments/{second['id']}", json={"body": body}).raise_for_status()
        for replica in (controller, world.controller()):
            ended = await world.settle(replica)
            assert ended[-1].reason == "as it should be"
        (shown,) = _comments(world, world.ticket)
        parsed = parse(shown["body"])
        assert parsed is not None
        assert parsed.fields["ticket"] == world.ticket


async def test_what_another_app_writes_is_no_witness(world: LoopWorld) -> None:
    controller, _, _ = await world.published()
    (pull,) = world.get("pulls?state=all")
    (own,) = _comments(world, world.ticket)
    stranger = world.emulator.app("stranger", permissions=PERMISSIONS, events=[])
    number = world.emulator.installation("stranger", "acme")["id"]
    token = world.emulator.installation_token(stranger, number)
    headers = {"authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=world.emulator.url, headers=headers) as http:
        for body in (own["body"], _sealed(world, own["body"], sequence=99), f"{own['body']}\n"):
            path = f"/repos/{REPO}/issues/{pull['number']}/comments"
            (await http.post(path, json={"body": body})).raise_for_status()
    mark = world.requested()
    for replica in (controller, world.controller()):
        assert [e.reason for e in await world.settle(replica)] == ["as it should be"]
    assert world.writes(mark) == []


def _comments(world: LoopWorld, ticket: int) -> list[dict[str, Any]]:
    """The handoff comments of a ticket, on whatever PR."""
    return [c for p in world.get("pulls?state=all") for c in world.comments(p["number"], marker_of(ticket))]
