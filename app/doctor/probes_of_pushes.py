"""Probes of pushes that are relayed: what the git endpoint stands on."""

import hashlib
from collections.abc import AsyncIterator

from app.doctor.finding import State
from app.doctor.probe import Seen, probe
from app.doctor.sandbox import Sandbox
from app.domain.model import ZERO_SHA
from app.domain.push_rules import Command
from app.github.pack import NewObject, empty_pack
from app.github.relayed_push import PushRequest

_WHO = "probe <probe@users.noreply.github.com> 1700000000 +0000"


@probe(
    "relayed-push", "A push sent on in pieces, with objects put into its pack, moves a branch and a custom ref at once"
)
async def relayed_push(box: Sandbox) -> Seen:
    branch, ledger = f"refs/heads/{box.branch('relayed')}", box.ref("relayed")
    blob = NewObject("blob", f"{box.word}\n".encode())
    tree = NewObject("tree", b"100644 probe\0" + bytes.fromhex(_sha(blob)))
    text = f"tree {_sha(tree)}\nparent {box.base}\nauthor {_WHO}\ncommitter {_WHO}\n\nrelayed"
    commit = NewObject("commit", text.encode())
    request = PushRequest((Command(branch, ZERO_SHA, box.base),), frozenset({"report-status", "side-band-64k"}))
    more = [Command(ledger, ZERO_SHA, _sha(commit))]
    first = await box.repo.git_push(request, _pieces(), more=more, objects=[blob, tree, commit])
    if not first.moved:
        return Seen(State.OTHERWISE, f"refused: {'; '.join(first.reasons)}")
    stale = [Command(ledger, ZERO_SHA, box.base)]
    again = PushRequest((Command(branch, box.base, await box.commit("later")),), request.capabilities)
    second = await box.repo.git_push(again, _pieces(), more=stale)
    if second.moved or await box.repo.exact_ref(branch) != box.base:
        return Seen(State.OTHERWISE, "a push with one stale old value moved something")
    return Seen(State.AS_RELIED_ON, f"both moved; with a stale ledger neither: {second.reasons[0]}")


async def _pieces() -> AsyncIterator[bytes]:
    pack = empty_pack()
    yield pack[:9]
    yield pack[9:]


def _sha(made: NewObject) -> str:
    header = f"{made.kind} {len(made.content)}\0".encode()
    return hashlib.sha1(header + made.content, usedforsecurity=False).hexdigest()
