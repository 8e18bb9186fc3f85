"""The npm package `emulate` as a differential witness: the same calls to both, every difference judged.

It is no authority: where the two differ, GitHub's own word decides, and `witness_verdicts.py` says which. A difference
nobody has judged fails, and so does a judgement about a difference that is no more.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from outsiders import Outside
from witness_calls import CALLS, Call
from witness_verdicts import VERDICTS

from tests.npm import packages

pytestmark = packages.needs_packages
SEED = {
    "tokens": {name: {"login": name, "scopes": ["repo"]} for name in ("dev", "mate")},
    "github": {"users": [{"login": "dev"}, {"login": "mate"}]},
}


@pytest.fixture
def witness() -> Iterator[str]:
    """The address of a running `emulate`."""
    node = shutil.which("node")
    assert node is not None
    script = str(packages.HERE.parent / "clients" / "emulate.mjs")
    env = {"PATH": os.environ["PATH"], "MODULES": str(packages.MODULES), "NODE_NO_WARNINGS": "1"}
    process = subprocess.Popen([node, script], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(SEED) + "\n")
    process.stdin.flush()
    yield json.loads(process.stdout.readline())["url"]
    process.stdin.close()
    process.wait(10)
    process.stdout.close()


def filled(value: Any, kept: dict[str, Any]) -> Any:
    """A path or body with what was kept in it."""
    if isinstance(value, dict):
        return {name: filled(inner, kept) for name, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, kept) for inner in value]
    return value.format(**kept) if isinstance(value, str) else value


def answers(url: str, tokens: dict[str, str]) -> dict[str, tuple[int, Any]]:
    """Status and parsed body of every call."""
    kept: dict[str, Any] = {}
    found: dict[str, tuple[int, Any]] = {}
    with httpx.Client(base_url=url, trust_env=False, verify=False) as client:
        for call in CALLS:
            found[call.name] = ask(client, call, tokens[call.who], kept)
    return found


def ask(client: httpx.Client, call: Call, token: str, kept: dict[str, Any]) -> tuple[int, Any]:
    answer = client.request(
        call.method,
        filled(call.path, kept),
        json=filled(call.body, kept) if call.body is not None else None,
        headers={"authorization": f"Bearer {token}"},
    )
    body = answer.json() if answer.content else None
    for name, path in call.keep.items():
        value = body
        for part in path.split("."):
            assert part in value, f"{call.name}: {answer.status_code} {body}"
            value = value[part]
        kept[name] = value
    return answer.status_code, body


def differences(mine: tuple[int, Any], theirs: tuple[int, Any]) -> list[str]:
    """What the two answers differ in: status, words of a refusal, members and kinds of what is shown.

    Members that only the emulator has are no difference: it shows what GitHub describes (tests/contract).
    """
    if mine[0] != theirs[0]:
        return [f"status {mine[0]}, not {theirs[0]}"]
    if mine[0] >= 400:
        said = [body.get("message") if isinstance(body, dict) else body for body in (mine[1], theirs[1])]
        return [] if said[0] == said[1] else [f"says {said[0]!r}, not {said[1]!r}"]
    one, other = (body[0] if isinstance(body, list) and body else body for body in (mine[1], theirs[1]))
    found = []
    if isinstance(mine[1], list) and isinstance(theirs[1], list) and len(mine[1]) != len(theirs[1]):
        found.append(f"{len(mine[1])} entries, not {len(theirs[1])}")
    if isinstance(one, dict) and isinstance(other, dict):
        lacking = sorted(set(other) - set(one))
        found += [f"lacks {', '.join(lacking)}"] if lacking else []
        for name in sorted(set(one) & set(other)):
            a, b = one[name], other[name]
            if a is not None and b is not None and type(a) is not type(b):
                found.append(f"{name} is {type(a).__name__}, not {type(b).__name__}")
            elif isinstance(a, str | bool) and a != b and name in SAME:
                found.append(f"{name} is {a!r}, not {b!r}")
    return found


# Members whose values cannot differ by chance: no ids, addresses or times.
SAME = (
    "state",
    "state_reason",
    "status",
    "draft",
    "merged",
    "mergeable",
    "mergeable_state",
    "locked",
    "active_lock_reason",
    "visibility",
    "default_branch",
    "author_association",
    "type",
    "encoding",
    "ref",
    "title",
    "body",
    "name",
    "message",
    "context",
    "event",
    "truncated",
)


def test_every_difference_to_the_witness_is_judged(outside: Outside, witness: str) -> None:
    nobody = "ghp_" + "x" * 36
    mine = answers(outside.url, outside.tokens | {"made up": nobody})
    theirs = answers(witness, {"dev": "dev", "mate": "mate", "made up": nobody})
    found = {name: differences(mine[name], theirs[name]) for name in mine}
    found = {name: differs for name, differs in found.items() if differs}
    judged = {name: list(verdict.differs) for name, verdict in VERDICTS.items()}
    assert found == judged, "\n".join(
        f"{name}: {found.get(name)}" for name in found.keys() | judged.keys() if found.get(name) != judged.get(name)
    )
    assert len(CALLS) - len(found) >= 40, "more than half of all answers are the same"
