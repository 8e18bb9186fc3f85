"""Ledger commits as somebody writes them who does not use our tools: any record, any time, sealed or not."""

import json
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from loop_world import Agent

from app.domain.token import kid_of, read, secret_of
from app.ledger.codec import blob_bytes, commit_bytes, draft_text, encoded, tree_bytes
from app.ledger.seals import LeaseSealer, split_message


def fetched(agent: Agent) -> tuple[str, dict[str, Any]]:
    """The ledger's head and its record, fetched into the agent's clone."""
    agent.world.git(agent.folder, "fetch", "-q", "origin", agent.grant.ledger_ref)
    head = agent.world.git(agent.folder, "rev-parse", "FETCH_HEAD")
    return head, json.loads(agent.world.git(agent.folder, "show", f"{head}:record.json"))


def following(record: dict[str, Any]) -> dict[str, Any]:
    """The record that a holder's commit may follow with."""
    return record | {"sequence": record["sequence"] + 1, "renewals": record["renewals"] + 1}


def commit(
    agent: Agent,
    parent: str,
    fields: dict[str, Any],
    *,
    sealed: bool,
    when: datetime | None = None,
    code_parent: str | None = None,
) -> str:
    """A ledger commit in the agent's clone; `sealed`: with the HMAC of its own lease token, as its own tool does."""
    token = agent.grant.lease_token
    claims = read(token)
    generation, nonce = claims.generation, claims.nonce  # type: ignore[union-attr]
    made = draft_text(
        ref=agent.grant.ledger_ref,
        parent=parent,
        code_parent=code_parent or (fields.get("published") or {}).get("sha"),
        record_text=encoded(fields).decode(),  # unlike `dump_fields`, whatever a reader would say to it
        event="pushed by hand",
        repository_id=agent.grant.repository.id,
        sealer=LeaseSealer(kid_of(token), generation, nonce, secret_of(token)),
        request=None,
        when=when or datetime.now(UTC),
        nonce=None,
        numbers=(fields["ticket"], fields["generation"], fields["sequence"]),
    )
    if not sealed:
        made = replace(made, message=split_message(made.message)[0])
    _stored(agent, "blob", blob_bytes(made.record_text))
    _stored(agent, "tree", tree_bytes(made.record_text))
    return _stored(agent, "commit", commit_bytes(made))


def point(agent: Agent, sha: str, *more: str) -> None:
    """Force the ledger's ref to a commit, as anybody with write access can; `more`: other refspecs in the push."""
    agent.world.git(agent.folder, "push", "-q", "--atomic", "origin", f"+{sha}:{agent.grant.ledger_ref}", *more)


def _stored(agent: Agent, kind: str, content: bytes) -> str:
    command = ["git", "hash-object", "-w", "-t", kind, "--stdin", "--literally"]
    done = subprocess.run(command, cwd=agent.folder, input=content, capture_output=True, check=True)
    return done.stdout.decode().strip()
