"""What each verb does with what was said, and what it is refused with: against a port that only notes what it is asked.

The rules themselves are played in tests/domain; here they are carried out on a record, so that an answer is one that a
person would read.
"""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.commands.grammar import commands_in
from app.commands.registry import VERBS, find, misplaced, unknown
from app.commands.telling import fitted, refusal, told
from app.commands.verb import ANYWHERE, Answered, Permission, Said
from app.controller.effect_decisions import Decision
from app.controller.person_commands import Done, Word
from app.domain.brief import Brief, BriefStep, Untrusted, Work
from app.domain.effect import Effect
from app.domain.effect_state import EffectState, state_of
from app.domain.fencing import AtPublished, Head
from app.domain.observation import Branch, Issue, Observation, Pull
from app.domain.outcome import Blocked, Code, Refused
from app.domain.person_verbs import Grounds
from app.domain.policy import Mode, Policy
from app.domain.rebuild import Rebuild
from app.domain.record import Lease, Projections, Published, Record
from app.domain.record import Work as RecordedWork
from app.domain.release_record import Person, Source
from app.domain.release_verbs import ReleaseVerb
from app.domain.ticket_id import Child, TicketId

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
S, T = "a" * 40, "d" * 40
OLIVE = Person(login="olive", id=5)
LEASE = Lease(
    generation=3,
    nonce="n",
    holder="agent",
    login="ann",
    claim_id_hash="h",
    granted_at=NOW - timedelta(hours=1),
    expires_at=NOW + timedelta(minutes=5),
)
EFFECTS = (
    Effect(key="deploy", kind="deploy.production", state="intended", generation=3, nonce="n"),
    Effect(key="mail", kind="email", state="unknown", generation=3, nonce="n"),
)
RECORD = Record(
    ticket=42,
    sequence=9,
    status="working",
    generation=3,
    lease=LEASE,
    work=RecordedWork(branch="ticket/42", trunk="release-1", base_sha="b" * 40),
    published=Published(sha=S, generation=3, nonce="n"),
    projections=Projections(pr_number=7),
    effects=EFFECTS,
)
PULL = Pull(7, "PR_7", "OPEN", False, "Apples", "", "ticket/42", S, "release-1", "acme/shop")
SEEN = Observation(NOW, 1, "acme", "shop", "main", None, Issue(42, "Apples", "", "OPEN", "ann"), pulls=(PULL,))
BRIEF = Brief(
    repository="acme/shop",
    ticket=42,
    issue_state="OPEN",
    status="working",
    generation=3,
    holder="agent\n/recovery land @everyone",
    lease_expires_at=NOW,
    claimable=False,
    claimable_because="agent holds it",
    work=Work(
        branch="ticket/42",
        trunk="release-1",
        base_sha=None,
        published_sha=S,
        branch_head=T,
        pr_number=7,
        pr_state="OPEN",
    ),
    objective=None,
    completed_steps=(BriefStep(id="1", text="one"),),
    next_steps=tuple(BriefStep(id=str(n), text=f"/recovery cancel <b> {n}") for n in range(7)),
    accepted_decisions=(),
    blockers=("effect mail is unknown: say `/recovery resolve mail done`",),
    pending_validation=("tests\n\n/recovery hold",),
    checkpoint={},
    findings=(),
    criteria=(),
    commands=(),
    untrusted=Untrusted(issue_title="", issue_body=""),
    generated_at=NOW,
)


@dataclass
class Port:
    """A ticket and a release, as far as verbs see them. `asked`: what was asked of it, with its words."""

    record: Record = RECORD
    head: Head = field(default_factory=lambda: AtPublished(S, True))
    frozen: bool = False
    shown: Brief = BRIEF
    asked: list[tuple[Any, ...]] = field(default_factory=list)

    async def hear(self, owner: str, name: str, ticket: TicketId, word: Word) -> Done:
        self.asked.append(("hear", f"{owner}/{name}", ticket, word.id, word.verb, word.by, word.branch))
        if self.frozen:
            raise Refused(Blocked(Code.FROZEN, "the ticket is frozen", "a person has to look"))
        branch = Branch(word.branch, "c" * 40) if word.branch is not None else None
        heard = word.rule(Grounds(self.record, self.head, SEEN, Policy(mode=Mode.FULL), branch))
        if isinstance(heard, Blocked):
            raise Refused(heard)
        self.record = heard.record
        return Done(heard.answer, heard.record, bool(heard.because))

    async def decide_effect(
        self, owner: str, name: str, ticket: TicketId, event: str, decision: Decision
    ) -> EffectState:
        self.asked.append(("decide_effect", f"{owner}/{name}", ticket, event))
        decided = decision(self.record, now=NOW)
        if isinstance(decided, Blocked):
            raise Refused(decided)
        self.record = decided.record
        return state_of(decided.effect)

    async def rebuild(self, owner: str, name: str, ticket: TicketId, *, by: str) -> Rebuild:
        self.asked.append(("rebuild", f"{owner}/{name}", ticket, by))
        return Rebuild(self.record.model_copy(update={"generation": 4, "lease": None}), "the handoff comment", "")

    async def brief(self, owner: str, name: str, ticket: TicketId) -> Brief:
        self.asked.append(("brief", f"{owner}/{name}", ticket))
        return self.shown

    async def hear_release(
        self,
        owner: str,
        name: str,
        pull: int,
        *,
        id: str,
        verb: str,
        by: Person,
        rule: ReleaseVerb,
        source: Source | None = None,
    ) -> "_Heard":
        self.asked.append(("hear_release", f"{owner}/{name}", pull, id, verb, by, getattr(rule, "keywords", {})))
        return _Heard("it is so", True)

    async def rebuild_release(self, owner: str, name: str, branch: str, *, id: str, by: str) -> "_Heard":
        self.asked.append(("rebuild_release", f"{owner}/{name}", branch, id, by))
        return _Heard("the ledger of the release is begun anew at sequence 8", True)

    async def release_status(self, owner: str, name: str, pull: int) -> str:
        self.asked.append(("release_status", f"{owner}/{name}", pull))
        return "**Nobody** has authorized it"


@dataclass(frozen=True)
class _Heard:
    answer: str
    changed: bool


def said(text: str, **more: Any) -> Said:
    (command,) = commands_in(text).commands
    source = Source(comment_id=9, number=7, created_at=NOW, body_digest="0" * 64)
    known: dict[str, Any] = {"head_sha": S, "ticket": 42, "source": source, **more}
    return Said("9", OLIVE, NOW, "acme", "shop", 7, command, **known)


def on_release(text: str, **more: Any) -> Said:
    return said(text, ticket=None, release="release-1", **more)


async def carry_out(what: Said, port: Port) -> Answered:
    verb = find(what.command.verb)
    assert verb is not None
    assert misplaced(verb, what) is None
    return await verb.carry_out(what, port)


async def refused(what: Said, port: Port) -> Blocked:
    with pytest.raises(Refused) as caught:
        await carry_out(what, port)
    return caught.value.blocked


@pytest.mark.parametrize(
    ("text", "verb", "status", "words"),
    [
        ("hold wait for @QA", "hold", "held", "Nothing is claimed"),
        ("cancel", "cancel", "cancelled", "is cancelled"),
        ("takeover", "takeover", "unclaimed", "an agent may claim it now"),
        (f"land {S}", "land", "working", "lands at"),
        ("land", "land", "working", "lands at"),
        ("land #42", "land", "working", "lands at"),
        ("retarget release-2", "retarget", "working", "release-2"),
        (f"accept {S}", "accept", "working", "is what is published"),
        ("unhold", "unhold", "working", "is not on hold"),
    ],
)
async def test_a_word_about_a_ticket_is_that_of_the_terminal(text: str, verb: str, status: str, words: str) -> None:
    port = Port()
    answered = await carry_out(said(f"/recovery {text}"), port)
    assert port.record.status == status
    assert words.lower() in answered.markdown.lower()
    (asked,) = port.asked
    assert asked[:6] == ("hear", "acme/shop", 42, "9", verb, "olive")
    assert commands_in(answered.markdown).commands == ()


async def test_the_reason_is_kept_as_it_was_said() -> None:
    port = Port()
    await carry_out(said("/recovery hold #17 must land  first"), port)
    assert port.record.held is not None
    assert port.record.held.reason == "#17 must land first"


@pytest.mark.parametrize("name", ["42.docs-1", "#42.docs-1"])
async def test_a_child_is_named_by_the_first_word(name: str) -> None:
    port = Port()
    with pytest.raises(Refused):
        await carry_out(said(f"/recovery unhold {name} now"), port)
    for text in (f"unhold {name}", f"land {name}", f"hold {name} it is late"):
        await carry_out(said(f"/recovery {text}"), port)
    assert [asked[2] for asked in port.asked] == [Child(42, "docs-1")] * 3
    assert (await refused(said("/recovery land #17"), port)).code is Code.USAGE
    assert (await refused(said("/recovery unhold 17.docs-1"), port)).code is Code.USAGE


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("land now", f"`/recovery land {S}`"),
        (f"land {S} {T}", f"`/recovery land {S}`"),
        (f"land {S[:12]}", f"`/recovery land {S}`"),
        (f"land {T}", f"`/recovery land {S}`"),
        ("land /recovery hold", f"`/recovery land {S}`"),
        ("accept", f"`/recovery accept {S}`"),
        (f"accept {S[:7]}", f"`/recovery accept {S}`"),
        ("retarget", "`/recovery retarget BRANCH`"),
        ("retarget a b", "`/recovery retarget BRANCH`"),
        ("unhold please", "`/recovery unhold`"),
        ("takeover now", "`/recovery takeover`"),
        ("recover it", "`/recovery recover`"),
        ("recover", "`/recovery takeover`"),
        ("status x", "`/recovery status`"),
        ("approve", "`/recovery approve EFFECT`"),
        ("approve a b c", "`/recovery approve EFFECT`"),
        ("approve $(x)", "`/recovery status`"),
        ("deny", "`/recovery deny EFFECT`"),
        ("resolve mail", "`/recovery resolve EFFECT done`"),
        ("resolve mail maybe", "`/recovery resolve EFFECT done`"),
    ],
)
async def test_a_refusal_tells_the_command_to_say(text: str, command: str) -> None:
    port = Port()
    blocked = await refused(said(f"/recovery {text}"), port)
    assert command in refusal(blocked)
    assert port.record == RECORD
    assert commands_in(refusal(blocked)).commands == ()
    (again,) = commands_in(command.strip("`")).commands
    assert find(again.verb) is not None


async def test_land_means_the_head_of_when_it_was_written() -> None:
    moved = Port(head=AtPublished(T, True), record=RECORD.model_copy(update={"published": None}))
    blocked = await refused(said("/recovery land"), moved)
    assert (blocked.code, f"`/recovery land {T}`" in blocked.remedy) == (Code.BRANCH_MOVED, True)
    blocked = await refused(said("/recovery land", head_sha=None), moved)
    assert (blocked.code, f"`/recovery land {T}`" in blocked.remedy) == (Code.BRANCH_MOVED, True)
    assert [asked[0] for asked in moved.asked] == ["hear", "brief"]
    answered = await carry_out(said(f"/recovery land {T}", head_sha=None), moved)
    assert answered.changed


@pytest.mark.parametrize(
    ("status", "head", "code", "told"),
    [
        ("working", None, Code.NOT_PUBLISHED, "`agent-recovery claim 42`"),
        ("cancelled", T, Code.ENDED, "`/recovery recover`"),
        ("abandoned", None, Code.ENDED, "`/recovery recover`"),
        ("landed", T, Code.LANDED, "new Issue"),
        ("landed", None, Code.LANDED, "new Issue"),
    ],
)
async def test_where_there_is_nothing_to_land(status: str, head: str | None, code: Code, told: str) -> None:
    shown = BRIEF.model_copy(update={"status": status, "work": BRIEF.work.model_copy(update={"branch_head": head})})
    for text in ("land", "land abc", "accept abc"):
        blocked = await refused(said(f"/recovery {text}", head_sha=None), Port(shown=shown))
        assert (blocked.code, told in blocked.remedy) == (code, True)


async def test_recover_goes_on_with_a_stopped_ticket_and_begins_a_frozen_ledger_anew() -> None:
    stopped = RECORD.model_copy(update={"lease": LEASE.model_copy(update={"expires_at": NOW - timedelta(days=9)})})
    port = Port(record=stopped)
    answered = await carry_out(said("/recovery recover"), port)
    assert "`agent-recovery recover 42`" in answered.markdown
    assert port.record.intent is not None
    frozen = Port(frozen=True)
    answered = await carry_out(said("/recovery recover"), frozen)
    assert frozen.asked[-1] == ("rebuild", "acme/shop", 42, "olive")
    assert "generation 4" in answered.markdown
    assert "mail" in answered.markdown


async def test_only_what_is_frozen_is_rebuilt() -> None:
    port = Port()
    assert (await refused(said("/recovery recover"), port)).code is Code.LEASE_LIVE
    assert [asked[0] for asked in port.asked] == ["hear"]
    assert (await refused(said("/recovery hold"), Port(frozen=True))).code is Code.FROZEN


@pytest.mark.parametrize(
    ("text", "key", "state"),
    [
        ("approve deploy", "deploy", "intended"),
        ("deny deploy", "deploy", "failed_no_effect"),
        ("resolve mail done", "mail", "confirmed"),
        ("resolve mail NOT-done", "mail", "failed_no_effect"),
    ],
)
async def test_a_word_about_an_effect(text: str, key: str, state: str) -> None:
    port = Port()
    answered = await carry_out(said(f"/recovery {text}"), port)
    assert {e.key: e.state for e in port.record.effects}[key] == state
    assert bool(port.record.approvals) == text.startswith("approve")
    assert f"The effect {key} " in answered.markdown
    before = port.record
    assert (await carry_out(said(f"/recovery {text}"), port)) == answered
    assert port.record == before


@pytest.mark.parametrize(("text", "since"), [("approve deploy", "intended_at"), ("resolve mail done", "settled_at")])
async def test_a_word_is_about_the_effect_as_it_was_when_it_was_said(text: str, since: str) -> None:
    def effects(moment: datetime) -> Port:
        return Port(RECORD.model_copy(update={"effects": tuple(e.model_copy(update={since: moment}) for e in EFFECTS)}))

    later = effects(NOW + timedelta(seconds=1))
    blocked = await refused(said(f"/recovery {text}"), later)
    assert blocked.code is Code.TOO_OLD
    assert "`/recovery status`" in blocked.remedy
    assert later.record.approvals == ()
    # Within the second of the comment nobody can tell, and the person did see it.
    port = effects(NOW + timedelta(milliseconds=900))
    first = await carry_out(said(f"/recovery {text}"), port)
    # What was decided since then is answered again.
    assert await carry_out(said(f"/recovery {text}"), port) == first


async def test_a_child_s_effect_is_named_after_the_child() -> None:
    port = Port()
    await carry_out(said("/recovery approve 42.docs-1 deploy"), port)
    assert port.asked[0][2] == Child(42, "docs-1")
    # One word is the effect's key, whatever it looks like.
    assert (await refused(said("/recovery approve 42.docs-1"), port)).code is Code.NOT_FOUND
    assert port.asked[1][2] == 42


async def test_status_shows_the_record_and_nothing_in_it_acts() -> None:
    answered = await carry_out(said("/recovery status"), Port())
    assert "generation 3" in answered.markdown
    assert S in answered.markdown
    assert answered.markdown.count("- Next: ") == 6
    assert "- Next: 2 more" in answered.markdown
    assert "`/recovery resolve mail done`" in answered.markdown
    assert commands_in(answered.markdown).commands == ()
    assert "@everyone" not in answered.markdown
    assert "<b>" not in answered.markdown


async def test_status_of_a_release_is_what_the_guard_says() -> None:
    port = Port()
    answered = await carry_out(on_release("/recovery status"), port)
    assert port.asked == [("release_status", "acme/shop", 7)]
    assert answered.markdown == "**Nobody** has authorized it"


async def test_help_lists_what_can_be_said_there() -> None:
    on_ticket = (await carry_out(said("/recovery help"), Port())).markdown
    of_release = (await carry_out(on_release("/recovery"), Port())).markdown
    nowhere = (await carry_out(said("/recovery help me", ticket=None), Port())).markdown
    assert all(f"`/recovery {verb.name}" in nowhere for verb in VERBS)
    assert "authorize-release" not in on_ticket
    assert "takeover" in on_ticket
    assert "takeover" not in of_release
    assert "merge-release" in of_release
    assert commands_in(nowhere).commands == ()


async def test_a_release_is_authorized_by_a_comment_at_one_whole_commit() -> None:
    port = Port()
    what = on_release(f"/recovery authorize-release {S.upper()}")
    assert (await carry_out(what, port)).markdown == "It is so."
    (asked,) = port.asked
    assert asked[:6] == ("hear_release", "acme/shop", 7, "9", "authorize-release", OLIVE)
    assert asked[6] == {"by": OLIVE, "sha": S, "source": what.source}
    for words in ("", S[:7], f"{S} {S}", "HEAD", "main"):
        blocked = await refused(on_release(f"/recovery authorize-release {words}"), port)
        assert f"`/recovery authorize-release {S}`" in blocked.remedy
    pressed = await refused(replace(what, source=None), port)
    assert pressed.code is Code.USAGE
    assert len(port.asked) == 1


@pytest.mark.parametrize("verb", ["revoke-release", "merge-release"])
async def test_a_release_is_revoked_and_merged_without_a_word_more(verb: str) -> None:
    port = Port()
    assert (await carry_out(on_release(f"/recovery {verb}"), port)).changed
    assert port.asked[0][4] == verb
    assert (await refused(on_release(f"/recovery {verb} {S}"), port)).code is Code.USAGE
    assert len(port.asked) == 1


def test_what_is_said_in_the_wrong_place_is_told_the_right_one() -> None:
    for verb in VERBS:
        nowhere = misplaced(verb, said("/recovery help", ticket=None))
        assert (nowhere is None) == (verb.name == "help")
        on_ticket, on_pull = misplaced(verb, said("/recovery help")), misplaced(verb, on_release("/recovery help"))
        assert (on_ticket is None, on_pull is None) == ("ticket" in verb.works_on, "release" in verb.works_on)
        for blocked in (on_ticket, on_pull):
            assert blocked is None or f"`/recovery {verb.name}`" in blocked.remedy


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("lnad", "land"),
        ("land.", "land"),
        ("takover", "takeover"),
        ("authorise-release", "authorize-release"),
        ("merge", "merge-release"),
        ("revoke", "revoke-release"),
        ("un-hold", "unhold"),
    ],
)
def test_the_nearest_verb_is_suggested(typed: str, meant: str) -> None:
    blocked = unknown(typed)
    assert f"`/recovery {meant}`" in blocked.remedy
    assert "`/recovery help`" in refusal(blocked)
    assert f"`/recovery {typed}`" in refusal(blocked)
    assert commands_in(refusal(blocked)).commands == ()


def test_what_is_near_nothing_is_sent_to_the_list() -> None:
    assert "did you mean" not in unknown("xyzzy").remedy


def test_after_a_day_only_what_stops_or_shows_is_heard() -> None:
    assert {verb.name for verb in VERBS if verb.late_ok} == {"help", "status", "hold", "cancel", "deny"}


def test_there_are_all_the_verbs_and_each_says_what_it_is() -> None:
    assert [verb.name for verb in VERBS] == [
        *("help", "status", "recover", "takeover", "hold", "unhold", "cancel", "land", "retarget", "accept", "approve"),
        *("deny", "resolve", "authorize-release", "revoke-release", "merge-release"),
    ]
    for verb in VERBS:
        assert verb.usage.split()[0] == verb.name
        assert verb.help.endswith(".")
        assert verb.needs or verb.works_on == ANYWHERE
        assert verb.permission is not Permission.READ or verb.works_on == ANYWHERE


def test_told_text_cannot_act_and_its_commands_can_be_copied() -> None:
    text = told("olive: @all see #4 </sub> `/recovery unhold\u200b` `rm -rf`\n/recovery cancel")
    assert "`/recovery unhold`" in text
    assert "\n" not in text
    assert "</sub>" not in text
    assert "@all" not in text
    assert "\\`rm" in text


def test_an_answer_that_is_too_long_is_cut_between_lines() -> None:
    assert fitted("one\ntwo \n", 7) == "one\ntwo"
    assert fitted("one\n\n" + "x" * 50, 20) == "one\n\n…"
    assert len(fitted("line\n" * 100, 50)) <= 50
