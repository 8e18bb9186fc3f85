"""Refs: what is never sent, what counts as undecided, and branches with difficult names."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
import respx

from app.domain.model import ZERO_SHA
from app.github.errors import Forbidden, RefsUndecided, ServerError
from app.github.refs import RefUpdate, RefValue
from app.github.repository import Repository

A, B = "a" * 40, "b" * 40
REF = "refs/agent-recovery/active/42"
MOVE = RefUpdate(REF, A, B)
SORRY = "Something went wrong while executing your query. Please include `AB:1` when reporting this issue."
CASES = json.loads((Path(__file__).parent.parent / "fixtures" / "branch_names_in_urls.json").read_text())


@pytest.mark.parametrize(
    "updates",
    [
        [],
        [RefUpdate(REF, ZERO_SHA, ZERO_SHA)],
        [MOVE, RefUpdate("refs/heads/x", ZERO_SHA, ZERO_SHA)],
        [RefUpdate(REF, A, A)],
        [MOVE, MOVE],
        [RefUpdate("heads/x", A, B)],
    ],
)
async def test_commands_that_are_never_sent(
    repository: Repository, wire: respx.MockRouter, updates: list[RefUpdate]
) -> None:
    sent = len(wire.calls)
    with pytest.raises(ValueError, match=r"."):
        await repository.update_refs(updates)
    with pytest.raises(ValueError, match=r"."):
        await repository.receive_pack(updates)
    assert len(wire.calls) == sent


async def test_every_command_carries_the_value_it_expects(repository: Repository, wire: respx.MockRouter) -> None:
    route = wire.post("/graphql").respond(json={"data": {"updateRefs": {"clientMutationId": None}}})
    await repository.update_refs([RefUpdate(REF, ZERO_SHA, A), RefUpdate("refs/heads/x", A, B, force=True)])
    assert json.loads(route.calls.last.request.content)["variables"] == {
        "input": {
            "repositoryId": "R_1",
            "refUpdates": [
                {"name": REF, "beforeOid": ZERO_SHA, "afterOid": A, "force": False},
                {"name": "refs/heads/x", "beforeOid": A, "afterOid": B, "force": True},
            ],
        }
    }


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, json={"data": None, "errors": [{"message": SORRY}]}),
        httpx.Response(200, json={"data": {"updateRefs": None}, "errors": [{"type": "FORBIDDEN", "message": "no"}]}),
        httpx.Response(200, json={}),
        httpx.Response(200, text="<html>"),
        httpx.Response(502),
        httpx.Response(500),
        httpx.ReadTimeout("late"),
        httpx.RemoteProtocolError("cut"),
    ],
)
async def test_no_clear_yes_is_undecided_and_not_repeated(
    repository: Repository, wire: respx.MockRouter, answer: Any
) -> None:
    route = wire.post("/graphql").mock(side_effect=[answer, answer])
    with pytest.raises(RefsUndecided) as caught:
        await repository.update_refs([MOVE])
    assert route.call_count == 1
    assert caught.value.reason


@pytest.mark.parametrize("name", ["hash", "percent", "slash", "plus_at", "amp_eq", "unicode"])
async def test_a_branch_is_asked_for_by_its_whole_name(
    repository: Repository, wire: respx.MockRouter, name: str
) -> None:
    branch = next(case["branch"] for case in CASES["input"]["cases"] if case["name"] == name)
    path = "/repos/octo-org/demo" + CASES["expected"]["cases"][name]["path"]
    answer = {"ref": f"refs/heads/{branch}", "object": {"sha": A}}
    route = wire.get(url__startswith="https://api.github.com/repos/octo-org/demo/git/ref/").respond(json=answer)
    assert await repository.commit_of_branch(branch) == A
    assert route.calls.last.request.url.raw_path.decode() == path


async def test_branches_that_only_begin_alike_are_not_the_branch(
    repository: Repository, wire: respx.MockRouter
) -> None:
    case = next(case for case in CASES["input"]["cases"] if case["name"] == "prefix_answer")
    answer = [{**item, "object": {"sha": A}} for item in case["answer"]]
    route = wire.get("/repos/octo-org/demo/git/ref/heads/ticket/4").respond(json=answer)
    assert await repository.commit_of_branch("ticket/4") is None
    route.respond(json={"ref": "refs/heads/ticket/41", "object": {"sha": A}})
    with pytest.raises(ServerError):
        await repository.commit_of_branch("ticket/4")
    route.respond(404, json={"message": "Not Found"})
    assert await repository.commit_of_branch("ticket/4") is None


GIT = "https://github.com/octo-org/demo.git"
ADVERTISED = (
    b"001f# service=git-receive-pack\n0000"
    + (lambda line: f"{len(line) + 4:04x}".encode() + line)(
        b"a" * 40 + b" refs/heads/main\x00report-status delete-refs atomic\n"
    )
    + b"0000"
)


@pytest.mark.parametrize(
    "answer",
    [httpx.Response(200, content=b"000eunpack ok\n0000"), httpx.Response(500), httpx.ReadTimeout("late")],
)
async def test_a_push_without_a_report_is_undecided_and_not_repeated(
    repository: Repository, wire: respx.MockRouter, answer: Any
) -> None:
    wire.get(f"{GIT}/info/refs").respond(content=ADVERTISED)
    push = wire.post(f"{GIT}/git-receive-pack").mock(side_effect=[answer, answer])
    with pytest.raises(RefsUndecided):
        await repository.receive_pack([MOVE])
    assert push.call_count == 1
    assert push.calls.last.request.headers["authorization"].startswith("Basic ")


async def test_a_push_with_an_old_token_is_repeated_once_with_a_new_one(
    repository: Repository, wire: respx.MockRouter, tokens: respx.Route
) -> None:
    wire.get(f"{GIT}/info/refs").mock(side_effect=[httpx.Response(401), httpx.Response(200, content=ADVERTISED)])
    report = b"000eunpack ok\n" + b"0025ok refs/agent-recovery/active/42\n" + b"0000"
    report = report.replace(b"0025", f"{4 + len('ok ' + REF) + 1:04x}".encode())
    wire.post(f"{GIT}/git-receive-pack").respond(content=report)
    assert await repository.receive_pack([MOVE]) == {REF: None}
    assert tokens.call_count == 2


async def test_a_server_that_cannot_push_atomically_is_not_used(repository: Repository, wire: respx.MockRouter) -> None:
    wire.get(f"{GIT}/info/refs").respond(content=ADVERTISED.replace(b"atomic", b"a_omic"))
    with pytest.raises(ServerError, match="atomic"):
        await repository.receive_pack([MOVE])


async def test_a_push_that_is_forbidden_is_a_refusal(repository: Repository, wire: respx.MockRouter) -> None:
    wire.get(f"{GIT}/info/refs").respond(403, text="Write access to repository not granted.")
    with pytest.raises(Forbidden):
        await repository.receive_pack([MOVE])


CHILDREN = tuple(f"{REF}.c{n}" for n in range(3))


async def test_children_come_with_the_same_answer_and_one_more_only_where_it_is_full(
    repository: Repository, wire: respx.MockRouter
) -> None:
    whole = (REF, *CHILDREN, *PREFIXED)
    route = wire.get(path="/repos/octo-org/demo/git/matching-refs/agent-recovery/active/42")
    route.respond(json=_page(*whole), headers=MANY)
    place, branches = await repository.place_and_branches_of_ref(REF)
    assert (place, [v.name for v in branches], route.call_count) == (RefValue(REF, A), list(CHILDREN), 1)
    route.respond(json=_page(REF, CHILDREN[0]), headers=MANY)
    further = wire.get(path="/repos/octo-org/demo/git/matching-refs/agent-recovery/active/42.")
    further.respond(json=_page(*CHILDREN))
    place, branches = await repository.place_and_branches_of_ref(REF)
    assert (place, [v.name for v in branches], further.call_count) == (RefValue(REF, A), list(CHILDREN), 1)


def _page(*names: str) -> list[dict[str, Any]]:
    return [{"ref": name, "object": {"sha": A, "type": "commit"}} for name in names]


MANY = {"Link": '<https://api.github.com/x?page=2>; rel="next"'}
PREFIXED = tuple(f"{REF}{n}" for n in range(3))


@pytest.mark.parametrize(
    ("first", "headers", "expected", "requests"),
    [
        (_page(REF), {}, A, 1),
        (_page(), {}, None, 1),
        (_page(*PREFIXED), {}, None, 1),
        (_page(REF, *PREFIXED), MANY, A, 1),
        (_page(*PREFIXED), MANY, None, 1),  # in order: the name itself would have come first
        (_page(*reversed(PREFIXED)), MANY, A, 3),  # out of order: it may stand on a later page
    ],
)
async def test_one_ref_is_one_request_however_many_begin_like_it(
    repository: Repository,
    wire: respx.MockRouter,
    first: list[dict[str, Any]],
    headers: dict[str, str],
    expected: str | None,
    requests: int,
) -> None:
    pages = {"1": httpx.Response(200, json=first, headers=headers), "2": httpx.Response(200, json=_page(REF))}
    route = wire.get(path="/repos/octo-org/demo/git/matching-refs/agent-recovery/active/42")
    route.side_effect = lambda request: pages[request.url.params.get("page", "1")]
    assert await repository.exact_ref(REF) == expected
    assert route.call_count == requests
