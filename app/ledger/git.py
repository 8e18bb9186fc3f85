"""A ticket's ledger through a local clone: the holder's side, which needs git and the remote and nothing else.

What must hold (the ownership protocol, R14): a fenced push moves branch and ledger in one atomic push, both with
explicit leases, and ALWAYS advances the ledger; git never sends an unchanged ref, so a ledger that stays where it is
fences nothing. The ledger is a child of the head just read, which names the pusher's own generation and nonce; so a
takeover between the read and the push refuses both refs. Commits on the branch that nobody pushed under this ledger
are named, never overwritten or taken over by accident. It works while the service is down.
"""

import random
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from app.domain.agent_api import HIGHEST_SEQ
from app.domain.checkpoint import Checkpoint
from app.domain.child_contract import ListedChild
from app.domain.children import Seen as Found
from app.domain.children import Unseen
from app.domain.fence import highest_seq, other_request
from app.domain.hold import why_held
from app.domain.record import AGENT_STATUSES, Answered, Fence, Published, Record
from app.domain.refs import LedgerRefs
from app.domain.ticket_id import Child, TicketId, number_of
from app.domain.token import Claims, Forged, kid_of, secret_of
from app.domain.token import read as read_token
from app.ledger.agent_commits import Integrated, Relisted, amend_as_agent
from app.ledger.clone import Clone, PushedRefs, PushFailed, RefPush, Unreachable
from app.ledger.codec import Draft, Entry, NewerSchema, NotStorable, blob_bytes, commit_bytes, draft_text, tree_bytes
from app.ledger.git_children import look_at_children
from app.ledger.git_outcomes import (
    Declined,
    Distrusted,
    FencedOut,
    Foreign,
    Gone,
    KeyUsed,
    LostRace,
    NotPushed,
    OnHold,
    Outnumbered,
    Pushed,
    Refused,
    Seen,
    Unheard,
    Withdrawn,
)
from app.ledger.git_program import Fault
from app.ledger.seals import LeaseSealer, PublicKeys, ServiceSeal, own_secret
from app.ledger.verify import Sound, verify_tail

TRIES = 10
"""Of a push that lost to another write, while the generation is still ours (the ownership protocol, R13)."""
UNMOVED_TRIES = 3
"""Of a push that failed though nothing had moved: then it is no race, and git's reason is the answer."""
LONGEST_TAIL = 10_000


@dataclass(frozen=True)
class _Content:
    """What one fenced push publishes."""

    claims: Claims
    kid: str
    secret: bytes
    branch_ref: str
    code_sha: str
    checkpoint: Checkpoint | None
    status: str
    request: tuple[str, int] | None
    adopt: str | None
    rewind: bool
    rebased: bool = False
    integrated: tuple[Integrated, ...] = ()


@dataclass(frozen=True)
class _Branch:
    """How the branch may move: from `lease`; `keep` is a head to set aside; `note` goes into the story."""

    lease: str | None
    keep: str | None = None
    note: str = ""


class GitLedger:
    """The ledger of one ticket or child, seen from a clone. `public_keys`: the service's seal keys, raw. `address`:
    where the repository is reached; without one, wherever the clone's `origin` leads.
    """

    def __init__(
        self,
        clone: Path,
        ledger_ref: str,
        repository_id: int,
        ticket: TicketId,
        namespace: str,
        public_keys: Mapping[str, bytes],
        *,
        address: str | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Raises ValueError on a ledger ref that is not this ticket's, or on a key that is no Ed25519 key."""
        self.refs = LedgerRefs(namespace)
        if ledger_ref != self.refs.active(ticket):
            raise ValueError("the ledger's ref is not the ticket's active one")
        self.ledger_ref = ledger_ref
        self.ticket = ticket
        self._repository_id = repository_id
        self._public_keys = PublicKeys(public_keys)
        self._clone = Clone(clone, address)
        self._sleep = sleep

    def fetch(self) -> Entry | Gone | Unreachable:
        """The ledger's head on the remote, unverified."""
        seen = self.look(None)
        return seen.entries[0] if isinstance(seen, Seen) else seen

    def look(self, branch: str | None) -> Seen | Gone | Unreachable:
        """Ledger and ticket branch as they stand on the remote now, in one fetch where both exist."""
        here = f"refs/agent-recovery-seen/{self.ticket}"
        wanted = {self.ledger_ref: f"{here}/ledger"}
        branch_ref = f"refs/heads/{branch}"
        if branch is not None:
            wanted[branch_ref] = f"{here}/branch"
        found = self._clone.fetch(wanted)
        if isinstance(found, Unreachable):
            return found
        head = found.get(self.ledger_ref)
        if head is None:
            done = self.refs.done(self.ticket)
            ended = self._clone.fetch({done: f"{here}/done"})
            stands = None if isinstance(ended, Unreachable) else ended.get(done)
            return Gone("the ticket has ended" if stands else "the ticket has no ledger in progress", stands)
        entries = self._tail(head)
        return Seen(entries, found.get(branch_ref)) if entries else Gone("the ledger's ref points to no ledger commit")

    def children(self, entries: Sequence[ListedChild]) -> dict[str, Found | Unseen] | Unreachable:
        """The ticket's listed children, by their ledgers on the remote."""
        wanted = [(Child(number_of(self.ticket), entry.name), entry) for entry in entries]
        return look_at_children(self._clone, self.refs, self._repository_id, self._public_keys, wanted, self._tail)

    def fenced_push(
        self,
        token: str,
        branch: str,
        code_sha: str,
        *,
        checkpoint: Checkpoint | None,
        status: str,
        request: tuple[str, int] | None,
        adopt: str | None = None,
        rewind: bool = False,
        rebased: bool = False,
        integrated: Sequence[Integrated] = (),
    ) -> Pushed | NotPushed:
        """Publish `code_sha` on the ticket branch together with a ledger commit that says so.

        `request`: idempotency key and number; a key the ledger knows gets its answer and nothing is pushed (KeyUsed
        where it asked for something else), another whose number is not above those the ledger knows of this lease is
        Outnumbered. No number above HIGHEST_SEQ is sealed: no reader of the agent API would take it.

        The branch must stand at what is published; elsewhere it is Foreign, unless `adopt` is exactly its head and the
        work contains it, or `rewind` puts the branch back and keeps the foreign head under `recovered/`. The work
        contains what is published, unless `rebased` says that other commits replace it; then that is kept there. Where
        the service withdrew what the work builds on, it is Withdrawn until the work contains that fence commit. A push
        that was carried out unheard is found in the ledger; of two pushers one wins and the other starts from its
        result; once the lease is gone every answer is FencedOut. `integrated`: results of children that the work
        contains and that are noted in the same push.
        """
        content = self._content(
            token, branch, code_sha, checkpoint, status, request, adopt, rewind, rebased, integrated
        )
        if isinstance(content, Refused):
            return content
        sent: str | None = None
        before: Seen | None = None
        unmoved = 0
        reason, fault = "", Fault.OTHER
        for number in range(TRIES + 1):
            if number:
                self._sleep(random.uniform(0.05, 0.2) * min(number, 6))
            seen = self.look(branch)
            if isinstance(seen, Unreachable):
                reason = _unheard(seen.reason) if sent else seen.reason
                return Declined(reason, seen.fault) if seen.fault.is_final else Unheard(reason)
            if sent is not None and self._has(seen, sent):
                return Pushed(sent, code_sha)
            if isinstance(seen, Gone):
                return FencedOut(seen.reason)
            unmoved = unmoved + 1 if before is not None and _same(seen, before) else 0
            if unmoved == UNMOVED_TRIES:
                return Unheard(_unheard(reason)) if fault is Fault.UNHEARD else Refused(reason)
            before = seen
            prepared = self._prepare(seen, content)
            if not isinstance(prepared, tuple):
                return prepared
            if number == TRIES:
                break
            made, route = prepared
            sent = self._store(made)
            outcome = self._push(seen, content, sent, route)
            if isinstance(outcome, PushedRefs):
                return Pushed(sent, code_sha)
            reason, fault = outcome.reason, outcome.fault
            if fault.is_final:
                return Declined(reason, fault)
            asks = fault is Fault.OTHER and seen.branch is None
            if asks and (taken := self._clone.in_the_way(content.branch_ref)):
                return Declined(reason, Fault.NAME_TAKEN, taken.removeprefix("refs/heads/"))
        return LostRace(f"others wrote to the ticket {TRIES} times in between; last: {reason}")

    def _content(
        self,
        token: str,
        branch: str,
        code_sha: str,
        checkpoint: Checkpoint | None,
        status: str,
        request: tuple[str, int] | None,
        adopt: str | None,
        rewind: bool,
        rebased: bool,
        integrated: Sequence[Integrated],
    ) -> _Content | Refused:
        claims = read_token(token)
        if isinstance(claims, Forged):
            return Refused(claims.reason)
        if (claims.repository_id, claims.ticket) != (self._repository_id, self.ticket):
            return Refused("the lease token is for another ticket")
        branch_ref = f"refs/heads/{branch}"
        if not self._clone.is_ref_name(branch_ref):
            return Refused("the branch name is none that git takes")
        if not self._clone.has_commit(code_sha):
            return Refused("the commit to publish is not in this clone")
        if request is not None and not 1 <= request[1] <= HIGHEST_SEQ:
            return Refused(f"a request's number is one from 1 to {HIGHEST_SEQ}")
        if status not in AGENT_STATUSES:
            return Refused(f"a push can say working, waiting or ready, not {status}")
        return _Content(
            claims,
            kid_of(token),
            secret_of(token),
            branch_ref,
            code_sha,
            checkpoint,
            status,
            request,
            adopt,
            rewind,
            rebased,
            tuple(integrated),
        )

    def _prepare(self, seen: Seen, content: _Content) -> tuple[Draft, _Branch] | Pushed | NotPushed:
        """The ledger commit and the branch's move from what was seen, or why there is none."""
        claims = content.claims
        judged = verify_tail(
            seen.entries,
            ticket=self.ticket,
            refs=self.refs,
            repository_id=self._repository_id,
            public_keys=self._public_keys,
            lease_secrets=own_secret(claims, content.secret),
        )
        if not isinstance(judged, Sound):
            why = "a newer version wrote it" if isinstance(judged, NewerSchema) else judged.reason
            return Distrusted(f"the ledger cannot be trusted: {why}")
        record = judged.record
        if content.request and (known := record.answered(content.request[0])):
            if other := other_request(known, "push"):
                return KeyUsed(other.reason)
            return self._answered(seen.entries[0].sha, known)
        # Past this fence the whole tail is of our own lease, and so was checked with our own secret.
        if fenced := _fence(record, claims):
            return fenced
        if content.request and content.request[1] <= (highest := highest_seq(record, claims)):
            return Outnumbered(f"request {content.request[1]} is older than one already carried out", highest)
        route = self._branch(seen.branch, record, content)
        if not isinstance(route, _Branch):
            return route
        try:
            return self._draft(judged, content, route.note), route
        except (NotStorable, Relisted) as error:
            return Refused(str(error))

    def past_fence(self, code_sha: str, withdrawn: Withdrawn) -> str:
        """The work with the fence commit in it: that commit itself where nothing was done since, else a merge with it.
        The files are those of `code_sha` in any case. Raises OSError where git cannot store it.
        """
        if self._clone.contains(withdrawn.fence, code_sha):
            return withdrawn.fence
        text = f"Go on after {withdrawn.on[:12]} was withdrawn"
        return self._clone.merge_unchanged(code_sha, withdrawn.fence, text, datetime.now(UTC))

    def _branch(self, head: str | None, record: Record, content: _Content) -> _Branch | Withdrawn | Foreign | Refused:
        published, fence = record.published.sha if record.published else None, record.fence
        code_sha = content.code_sha
        if fence is not None and fence.sha == published and self._lacks(code_sha, fence):
            return Withdrawn(fence.sha, fence.on)
        if code_sha in record.burned_shas:
            return Refused(f"{code_sha} was withdrawn and is never published again: make a new commit")
        if published is not None and not self._clone.contains(code_sha, published):
            if content.rebased and head in (None, published):
                return _Branch(head, keep=published, note=f", in place of {published[:12]}")
            how = "merge that first, or push with --rebased where your commits replace it"
            return Refused(f"the work does not contain what is published ({published}): {how}")
        if head is None or head == published:
            # A branch that somebody deleted holds nothing that could be lost: it comes back with this push.
            return _Branch(head)
        if content.rewind:
            return _Branch(head, keep=head, note=f", putting the branch back from {head[:12]}")
        if content.adopt == head:
            if head in record.burned_shas or not self._clone.contains(code_sha, head):
                return Refused(f"the work does not contain {head}: merge it first, then adopt it")
            return _Branch(head, note=f", adopting {head[:12]}")
        known = [code_sha, *([published] if published else [])]
        return Foreign(head, self._clone.commits_beside(head, known))

    def _lacks(self, code_sha: str, fence: Fence) -> bool:
        return self._clone.contains(code_sha, fence.on) and not self._clone.contains(code_sha, fence.sha)

    def _draft(self, judged: Sound, content: _Content, note: str) -> Draft:
        generation, nonce = content.claims.identity
        sequence = judged.record.sequence + 1
        answer = {"generation": generation, "sequence": sequence, "status": content.status}
        key, seq = content.request or (None, 0)
        text = amend_as_agent(
            judged.head,
            checkpoint=content.checkpoint,
            published=Published(sha=content.code_sha, generation=generation, nonce=nonce),
            status=content.status,
            integrated=content.integrated,
            request=Answered(key=key, seq=seq, generation=generation, answer=answer, to="push") if key else None,
        )
        return draft_text(
            ref=self.ledger_ref,
            parent=judged.head.sha,
            code_parent=content.code_sha,
            record_text=text,
            event=f"pushed {content.code_sha[:12]}{note}",
            repository_id=self._repository_id,
            sealer=LeaseSealer(content.kid, generation, nonce, content.secret),
            request=key,
            when=datetime.now(UTC),
            nonce=secrets.token_hex(8),
            numbers=(self.ticket, generation, sequence),
        )

    def _store(self, made: Draft) -> str:
        self._clone.write_object("blob", blob_bytes(made.record_text))
        self._clone.write_object("tree", tree_bytes(made.record_text))
        return self._clone.write_object("commit", commit_bytes(made))

    def _push(self, seen: Seen, content: _Content, commit: str, route: _Branch) -> PushedRefs | PushFailed:
        pushes = [
            RefPush(self.ledger_ref, commit, seen.entries[0].sha),
            RefPush(content.branch_ref, content.code_sha, route.lease),
        ]
        return self._clone.push(pushes, create=self._kept(route.keep))

    def _kept(self, head: str | None) -> dict[str, str]:
        """Where a head is kept that is not on the branch any more. No room for it must not keep the holder from moving
        the branch.
        """
        if head is None or not self._clone.has_commit(head):
            return {}
        name = self.refs.recovered(self.ticket, head)
        return {} if self._clone.in_the_way(name) else {name: head}

    def _has(self, seen: Seen | Gone, commit: str) -> bool:
        """Whether our commit is in the ledger, wherever that stands now."""
        head = seen.entries[0].sha if isinstance(seen, Seen) else seen.head
        return head is not None and commit in self._clone.first_parents(head, LONGEST_TAIL)

    def _answered(self, head: str, known: Answered) -> Pushed | Distrusted:
        """What the push under a known key published. The ledger may have gone on since, under another holder too, so
        its present head says nothing about that push: the commit that carried the key does. That commit may stand
        below the last service seal; what such a seal stands on was checked when it was made.
        """
        wanted: str | None = head
        with self._clone.objects() as objects:
            for _ in range(LONGEST_TAIL):
                entry = objects.entry(wanted) if wanted else None
                if entry is None:
                    break
                if entry.trailers.get("Recovery-Request") == known.key and entry.code_parent:
                    return Pushed(entry.sha, entry.code_parent)
                wanted = entry.parent
        return Distrusted(f"the ledger cannot be trusted: no push of it carries the request {known.key} it answered")

    def _tail(self, head: str) -> tuple[Entry, ...]:
        entries: list[Entry] = []
        wanted: str | None = head
        with self._clone.objects() as objects:
            while wanted is not None and len(entries) < LONGEST_TAIL:
                entry = objects.entry(wanted)
                if entry is None:
                    break
                entries.append(entry)
                if isinstance(entry.seal, ServiceSeal):
                    break
                wanted = entry.parent
        return tuple(entries)


def _fence(record: Record, claims: Claims) -> FencedOut | OnHold | None:
    """The fence itself: the ledger's head must name our generation and nonce, and nothing may have ended them."""
    holder = record.lease.holder if record.lease else None
    if record.identity != claims.identity:
        who = f"generation {record.generation} holds the ticket" if holder else "nobody holds the ticket"
        return FencedOut(f"{who}; this lease was generation {claims.generation}", holder, record.generation)
    if record.status == "held":
        return OnHold(why_held(record), record.generation)
    if record.status not in AGENT_STATUSES | {"recovering"}:
        return FencedOut(f"the ticket is {record.status}", holder, record.generation)
    return None


def _same(seen: Seen, before: Seen) -> bool:
    return (seen.entries[0].sha, seen.branch) == (before.entries[0].sha, before.branch)


def _unheard(reason: str) -> str:
    return f"{reason}; the push may have been carried out: push again to find out"
