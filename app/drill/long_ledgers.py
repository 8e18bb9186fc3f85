"""Ledgers of any length, written straight into a bare repository with the real codec and keys.

For measurements only: what took an agent a week of checkpoints stands there in a second.
"""

import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from app.domain.record import Record
from app.ledger.agent_commits import amend_as_agent
from app.ledger.codec import AUTHOR_EMAIL, AUTHOR_NAME, Draft, Entry, commit_sha, draft, draft_text
from app.ledger.seals import Sealer


@dataclass(frozen=True)
class Ledger:
    """A ledger in a bare repository on this machine, under one ref."""

    bare: Path
    ref: str
    repository_id: int

    def head(self) -> Entry:
        """The newest ledger commit, as it stands."""
        raw = _git(self.bare, "cat-file", "commit", f"{self.ref}^{{commit}}")
        lines, _, message = raw.partition("\n\n")
        fields = [line.partition(" ")[::2] for line in lines.split("\n")]
        sha = _git(self.bare, "rev-parse", self.ref).strip()
        parents = [value for name, value in fields if name == "parent"]
        tree = next(value for name, value in fields if name == "tree")
        return Entry.read(sha, parents, tree, message, _git(self.bare, "show", f"{sha}:record.json"))

    def by_holder(self, previous: Entry, sealer: Sealer, when: datetime) -> tuple[Draft, Entry]:
        """The next commit as the holder's push would make it."""
        record = previous.record
        assert isinstance(record, Record)
        text = amend_as_agent(previous, checkpoint=record.checkpoint, published=record.published)
        made = draft_text(
            ref=self.ref,
            parent=previous.sha,
            code_parent=record.published.sha if record.published else None,
            record_text=text,
            event="push",
            repository_id=self.repository_id,
            sealer=sealer,
            request=None,
            when=when,
            nonce=None,
            numbers=(record.ticket, record.generation, record.sequence + 1),
        )
        return made, made.entry(commit_sha(made))

    def by_service(self, previous: Entry | None, record: Record, sealer: Sealer, when: datetime) -> tuple[Draft, Entry]:
        """The next commit as the service would make it."""
        made = draft(
            ref=self.ref,
            parent=previous.sha if previous else None,
            code_parent=record.published.sha if previous and record.published else None,
            record=record,
            event="checkpoint",
            repository_id=self.repository_id,
            sealer=sealer,
            request=None,
            when=when,
        )
        return made, made.entry(commit_sha(made))


def lengthen(ledger: Ledger, *, by: int, tail: int, service: Sealer, holder: Sealer, when: datetime) -> Entry:
    """Adds `by` commits to a held ledger: sealed by the service, the last `tail` of them by the holder alone."""
    previous = ledger.head()
    drafts: list[Draft] = []
    for n in range(by):
        moment = when + timedelta(seconds=n)
        record = previous.record
        assert isinstance(record, Record)
        if n >= by - tail:
            made, previous = ledger.by_holder(previous, holder, moment)
        else:
            following = record.model_copy(update={"sequence": record.sequence + 1})
            made, previous = ledger.by_service(previous, following, service, moment)
        drafts.append(made)
    write(ledger.bare, drafts)
    return previous


def write(bare: Path, drafts: Iterable[Draft]) -> None:
    """Puts ledger commits, each a child of the one before it on its ref, into a bare repository."""
    who = f"{AUTHOR_NAME} <{AUTHOR_EMAIL}>"
    parts: list[bytes] = []
    begun: set[str] = set()
    for made in drafts:
        stamp = f"{who} {int(made.when.timestamp())} +0000"
        message, record = made.message.encode(), made.record_text.encode()
        lines = [f"commit {made.ref}", f"author {stamp}", f"committer {stamp}", f"data {len(message)}"]
        parts.append("\n".join(lines).encode() + b"\n" + message + b"\n")
        if made.ref not in begun and made.parent is not None:
            parts.append(f"from {made.parent}\n".encode())
        if made.code_parent is not None:
            parts.append(f"merge {made.code_parent}\n".encode())
        parts.append(b"deleteall\nM 100644 inline record.json\n" + f"data {len(record)}\n".encode() + record + b"\n")
        begun.add(made.ref)
    subprocess.run(
        ["git", "-C", str(bare), "fast-import", "--quiet"], input=b"".join(parts), check=True, capture_output=True
    )


def _git(bare: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(bare), *arguments], check=True, capture_output=True, text=True, encoding="utf-8"
    ).stdout
