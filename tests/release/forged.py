"""Release records as somebody writes them who may push and holds no key of ours, by plain git.

What a forger has: the clone, every commit of every ledger, the public keys, our own code, a comment of a person who may
authorize. What he lacks is the service's seal key.
"""

import hashlib
import json
import secrets
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from loop_world import REPO
from release_world import INTO
from scene import Scene
from served import Served

from app.domain.refs import LedgerRefs
from app.domain.release_record import AskedToMerge, Authorization, Person, ReleaseRecord, Source
from app.ledger.codec import Draft, blob_bytes, commit_bytes, encoded, tree_bytes, tree_sha
from app.ledger.release_codec import release_draft
from app.ledger.seals import SEAL_PREFIX, LeaseSealer, Sealer, ServiceSealer, split_message

REFS = LedgerRefs()


@dataclass
class Forger:
    """Somebody with `contents: write` and a clone. `trunk`: the release he wants merged, which differs and is red."""

    world: Served
    scene: Scene
    folder: Path

    @classmethod
    def at_work(cls, world: Served, scene: Scene) -> "Forger":
        folder = world.folder / f"forger-{secrets.token_hex(4)}"
        url = f"{world.emulator.url}/{REPO}.git"
        world.git(world.folder, "clone", "-q", url, str(folder))
        made = cls(world, scene, folder)
        made.fetch()
        return made

    @property
    def ref(self) -> str:
        return REFS.release(self.scene.trunk)

    def git(self, *arguments: str) -> str:
        return self.world.git(self.folder, *arguments)

    def fetch(self) -> None:
        """Get every ledger there is."""
        self.git("fetch", "-q", "--force", "origin", "+refs/agent-recovery/*:refs/kept/*")

    def head(self, ref: str | None = None) -> str | None:
        """What a ledger's ref points to on GitHub."""
        found = self.git("ls-remote", "origin", ref or self.ref)
        return found.split()[0] if found else None

    def put(self, sha: str, ref: str | None = None) -> None:
        """Force a ref to a commit, as anybody with write access can."""
        self.git("push", "-q", "origin", f"+{sha}:{ref or self.ref}")

    def delete(self, ref: str | None = None) -> None:
        self.git("push", "-q", "origin", f":{ref or self.ref}")

    def history(self) -> list[str]:
        """The ledger's commits, newest first."""
        self.fetch()
        return self.git("rev-list", "--first-parent", str(self.head())).split()

    def fields(self, sha: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.git("show", f"{sha}:record.json"))
        return found

    def message(self, sha: str) -> str:
        return self.git("log", "-1", "--format=%B", sha)

    # ---- what he writes

    def receipt(self, comment: dict[str, Any], **more: Any) -> Authorization:
        """The receipt that would authorize the present head, if a service had written it."""
        now = datetime.now(UTC).replace(microsecond=0)
        made = Authorization(
            id=str(comment["id"]),
            pull=self.scene.number,
            base=INTO,
            head_sha=self.scene.head,
            by=Person(login=comment["user"]["login"], id=comment["user"]["id"]),
            at=datetime.fromisoformat(comment["created_at"]),
            expires_at=now + timedelta(days=1),
            source=Source(
                comment_id=comment["id"],
                number=self.scene.number,
                created_at=datetime.fromisoformat(comment["created_at"]),
                body_digest=hashlib.sha256(comment["body"].encode()).hexdigest(),
            ),
        )
        return made.model_copy(update=more)

    def authorized(self, sha: str, comment: dict[str, Any]) -> ReleaseRecord:
        """The record after `sha` with that receipt in it, and with somebody's wish to merge."""
        before = ReleaseRecord.model_validate(self.fields(sha))
        receipt = self.receipt(comment)
        asked = AskedToMerge(
            id=f"{comment['id']}.2", by=receipt.by, at=receipt.at, pull=receipt.pull, head_sha=receipt.head_sha
        )
        return before.model_copy(
            update={
                "sequence": before.sequence + 1,
                "authorizations": (*before.authorizations, receipt),
                "asked": asked,
            }
        )

    def draft(self, parent: str | None, record: ReleaseRecord, sealer: Sealer | None = None) -> Draft:
        """The commit that a service would make of it, sealed with whatever key the forger has."""
        return release_draft(
            refs=REFS,
            parent=parent,
            record=record,
            event="authorized",
            repository_id=int(self.world.http.get(f"/repos/{REPO}").json()["id"]),
            sealer=sealer or ServiceSealer("seal-1", Ed25519PrivateKey.generate()),
            request=None,
            when=datetime.now(UTC),
            nonce=secrets.token_hex(8),
        )

    def commit(self, draft: Draft) -> str:
        self._stored("blob", blob_bytes(draft.record_text))
        self._stored("tree", tree_bytes(draft.record_text))
        return self._stored("commit", commit_bytes(draft))

    def with_text(self, draft: Draft, text: str) -> str:
        """The same message above another record."""
        return self.commit(replace(draft, record_text=text, tree=tree_sha(text)))

    def _stored(self, kind: str, content: bytes) -> str:
        command = ["git", "hash-object", "-w", "-t", kind, "--stdin", "--literally"]
        done = subprocess.run(command, cwd=self.folder, input=content, capture_output=True, check=True)
        return done.stdout.decode().strip()


Forgery = Callable[[Forger, dict[str, Any]], object]
"""What is done to the ledger, with a comment of a person who may authorize at hand that names the head."""


def _next(f: Forger, comment: dict[str, Any], sealer: Sealer | None = None) -> Draft:
    head = str(f.head())
    f.fetch()
    return f.draft(head, f.authorized(head, comment), sealer)


def _unsealed(f: Forger, comment: dict[str, Any]) -> None:
    made = _next(f, comment)
    f.put(f.commit(replace(made, message=split_message(made.message)[0])))


def _own_key(f: Forger, comment: dict[str, Any]) -> None:
    f.put(f.commit(_next(f, comment, ServiceSealer("mine", Ed25519PrivateKey.generate()))))


def _our_key_id(f: Forger, comment: dict[str, Any]) -> None:
    """Another key under the name of ours."""
    kid = f.message(str(f.history()[0])).rpartition("ed25519:")[2].partition(":")[0]
    f.put(f.commit(_next(f, comment, ServiceSealer(kid, Ed25519PrivateKey.generate()))))


def _seal_of_before(f: Forger, comment: dict[str, Any]) -> None:
    """The seal of the head below a new message."""
    made, seal = _next(f, comment), split_message(f.message(f.history()[0]))[1]
    f.put(f.commit(replace(made, message=f"{split_message(made.message)[0]}\n{SEAL_PREFIX}{seal}")))


def _tree_exchanged(f: Forger, comment: dict[str, Any]) -> None:
    """The head's own message and seal above a record with a receipt."""
    head = f.history()[0]
    record = f.authorized(head, comment)
    parent = f.git("rev-parse", f"{head}^") if len(f.history()) > 1 else None
    made = replace(f.draft(parent, record), message=f.message(head))
    f.put(f.commit(made))


def _lease_sealed(f: Forger, comment: dict[str, Any]) -> None:
    """With the seal of a holder's lease, which a ticket's ledger takes."""
    f.put(f.commit(_next(f, comment, LeaseSealer("lease-1", 1, secrets.token_hex(8), secrets.token_bytes(32)))))


def _ledger_of_another_release(f: Forger, comment: dict[str, Any]) -> None:
    """A release that really is authorized lends its ledger to one that is not."""
    other = Scene.begun(f.world, f"release-9-{secrets.token_hex(2)}")
    other.authorize(other.milo)
    f.put(_fetched(f, REFS.release(other.trunk)))


def _fetched(f: Forger, ref: str) -> str:
    f.git("fetch", "-q", "origin", ref)
    return f.git("rev-parse", "FETCH_HEAD")


def _ledger_of_a_ticket(f: Forger, comment: dict[str, Any]) -> None:
    f.scene.alone()
    agent = f.scene.claimed(f.scene.ticket())
    f.put(_fetched(f, agent.grant.ledger_ref))


def _begun_anew(f: Forger, comment: dict[str, Any]) -> None:
    """A ledger of his own from the first commit on."""
    record = f.authorized(f.history()[0], comment).model_copy(update={"sequence": 1})
    f.put(f.commit(f.draft(None, record)))


def _far_ahead(f: Forger, comment: dict[str, Any]) -> None:
    """A sequence that no witness can be above."""
    head = f.history()[0]
    f.put(f.commit(f.draft(head, f.authorized(head, comment).model_copy(update={"sequence": 10**9}))))


def _newer_schema(f: Forger, comment: dict[str, Any]) -> None:
    made = _next(f, comment)
    fields = json.loads(made.record_text) | {"schema": 99}
    f.put(f.with_text(made, encoded(fields).decode()))


def _no_json(f: Forger, comment: dict[str, Any]) -> None:
    f.put(f.with_text(_next(f, comment), '{"authorizations": [' * 200))


def _a_code_commit(f: Forger, comment: dict[str, Any]) -> None:
    f.put(_fetched(f, f"refs/heads/{f.scene.trunk}"))


def _deleted(f: Forger, comment: dict[str, Any]) -> None:
    f.delete()


def _another_spelling(f: Forger, comment: dict[str, Any]) -> None:
    """A ledger under another way to write the same branch, beside ours."""
    made = _next(f, comment)
    f.put(f.commit(made), f"{REFS.releases_prefix}{f.scene.trunk.replace('-', '%2D')}")


def _where_tickets_lie(f: Forger, comment: dict[str, Any]) -> None:
    f.put(f.commit(_next(f, comment)), REFS.active(f.scene.number))


FORGERIES: dict[str, Forgery] = {
    "without a seal": _unsealed,
    "with a key of his own": _own_key,
    "with his key under our name": _our_key_id,
    "with the seal of another commit": _seal_of_before,
    "another record under a sealed message": _tree_exchanged,
    "with the seal of a lease": _lease_sealed,
    "copied from another release": _ledger_of_another_release,
    "copied from a ticket": _ledger_of_a_ticket,
    "begun anew": _begun_anew,
    "far ahead": _far_ahead,
    "of a newer schema": _newer_schema,
    "no record at all": _no_json,
    "a code commit": _a_code_commit,
    "deleted": _deleted,
    "under another spelling": _another_spelling,
    "where tickets lie": _where_tickets_lie,
}
