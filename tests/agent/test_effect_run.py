"""One effect's command on this machine, cut off at every save and every call: begun at most once, never forgotten."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.agent import effects
from app.agent.effect_run import Execution, LocalRun
from app.agent.held import Identity
from app.agent.home import Home
from app.domain.effect_api import EffectIntent, EffectOutcome
from app.domain.effect_journal import Noted, dispatched, intended, reported, seen
from app.domain.effect_probe import NothingThere, Present, TagProbe
from app.domain.effect_state import EffectState, state_of
from app.domain.outcome import Blocked, Code, Refused
from app.domain.record import Lease, Record
from app.domain.ticket_id import Child
from app.domain.token import Claims

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
LEASE = Lease(
    generation=1,
    nonce="n1",
    holder="agent",
    login="wanda",
    claim_id_hash="0" * 64,
    granted_at=NOW,
    expires_at=NOW + timedelta(minutes=15),
)
BODY = {"effect": "tag-1", "kind": "tag"}


class Cut(Exception):
    """The program ends here, as if it was killed."""


class Ledger:
    """The journal as the service keeps it, without the network: the same rules on a record that outlives every cut."""

    def __init__(self, happened: Path, probe: bool = True) -> None:
        self.record = Record(ticket=42, sequence=1, status="working", generation=1, lease=LEASE)
        self._happened, self._probe = happened, TagProbe(name="v1") if probe else None

    def intend(self, body: dict[str, Any]) -> EffectState:
        request = EffectIntent.model_validate({**body, "key": "k" * 8, "seq": 1})
        request = request.model_copy(update={"probe": self._probe})
        return self._noted(intended(self.record, LEASE, request, now=NOW))

    def go(self, run: LocalRun) -> EffectState:
        return self._noted(dispatched(self.record, LEASE, "tag-1", run.attempt, now=NOW))

    def end(self, run: LocalRun) -> EffectState:
        fields = run.model_dump(include={"attempt", "outcome", "exit_code", "remote_id", "note"})
        word = EffectOutcome.model_validate({**fields, "key": "k" * 8, "seq": 2})
        return self._noted(reported(self.record, word, "tag-1", now=NOW))

    def look(self) -> EffectState:
        sighting = Present("there") if self._happened.exists() and self._probe else NothingThere("no")
        return self._noted(seen(self.record, "tag-1", sighting, now=NOW))

    def beat(self) -> float:
        return 5.0

    def environment(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"]}

    def _noted(self, answer: Noted | Blocked) -> EffectState:
        if isinstance(answer, Blocked):
            raise Refused(answer)
        self.record = answer.record
        return state_of(answer.effect, go=answer.go)


class CutAt:
    """Ends the program at the `at`-th of its steps: every call of the journal before and after it is carried out, and
    every save of the folder.
    """

    def __init__(self, ledger: Ledger, at: int) -> None:
        self._ledger, self._left = ledger, at
        self.was_cut = False

    def step(self) -> None:
        self._left -= 1
        if self._left == 0:
            self.was_cut = True
            raise Cut

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._ledger, name)
        if name in ("beat", "environment"):
            return call

        def cut(*arguments: Any) -> Any:
            self.step()
            answer = call(*arguments)
            self.step()
            return answer

        return cut


def run(home: Home, journal: Any, command: tuple[str, ...], no_effect: frozenset[int] = frozenset()) -> Any:
    execution = Execution(home, "tag-1")
    with execution.alone():
        return effects._carried_out(journal, execution, BODY, no_effect, command, quiet=True)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.save("lease.json", LocalRun())  # makes the folder, as a claim does
    return made


@pytest.mark.parametrize("code", [0, 3])
@pytest.mark.parametrize("probe", [True, False], ids=["probe", "no probe"])
def test_cut_off_anywhere_it_is_begun_once_at_most_and_its_end_is_never_invented(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, probe: bool, code: int
) -> None:
    save = Home.save
    ends: set[tuple[str, int]] = set()
    for at in range(1, 40):
        place = Home(tmp_path / f"at-{at}")
        place.root.mkdir()
        place.save("lease.json", LocalRun())
        log = place.root / "happened"
        ledger = Ledger(log, probe)
        cutting = CutAt(ledger, at)
        command = ("sh", "-c", f"echo x >>{log}; exit {code}")

        def saving(self: Home, name: str, content: Any, cutting: CutAt = cutting) -> None:
            cutting.step()
            save(self, name, content)
            cutting.step()

        monkeypatch.setattr(Home, "save", saving)
        with contextlib.suppress(Cut):
            run(place, cutting, command)
        monkeypatch.setattr(Home, "save", save)
        state, _ = run(place, ledger, command)
        again, ran = run(place, ledger, command)
        begun = len(log.read_text().splitlines()) if log.exists() else 0
        assert begun <= 1, at
        assert not ran
        assert again.state == state.state
        if state.state == "confirmed":
            assert begun == 1, at
        assert state.state in ("confirmed", "unknown")
        ends.add((state.state, begun))
        if not cutting.was_cut:
            break
    else:
        raise AssertionError("there is no end of steps")
    # Only its own command's word or a probe that finds it confirms it; what was begun and cut off is unknown else.
    heard = {("confirmed", 1)} if probe or code == 0 else set()
    assert ends == heard | {("unknown", 0)} | (set() if probe else {("unknown", 1)})


@pytest.mark.parametrize(
    ("command", "no_effect", "outcome"),
    [
        (("sh", "-c", "exit 0"), (), "confirmed"),
        (("sh", "-c", "exit 7"), (), "unknown"),
        (("sh", "-c", "exit 7"), (7,), "failed_no_effect"),
        (("sh", "-c", "kill -9 $$"), (), "unknown"),
    ],
)
def test_what_an_exit_code_says(home: Home, command: tuple[str, ...], no_effect: tuple[int, ...], outcome: str) -> None:
    ended = Execution(home, "x").carry_out(
        LocalRun(), command, dict(os.environ), frozenset(no_effect), lambda: 5.0, quiet=True
    )
    assert ended.outcome == outcome
    assert Execution(home, "x").known() == ended


def test_a_command_that_cannot_be_started_did_nothing(home: Home, tmp_path: Path) -> None:
    (tmp_path / "no-program").write_text("text")
    ended = Execution(home, "x").carry_out(
        LocalRun(), (str(tmp_path / "no-program"),), {}, frozenset(), lambda: 5.0, quiet=True
    )
    assert ended.outcome == "failed_no_effect"


def test_the_other_sides_name_is_taken_from_the_file_on_one_line(home: Home) -> None:
    command = ("sh", "-c", "printf 'order\\n 7\\n' >$AGENT_RECOVERY_EFFECT_RESULT")
    ended = Execution(home, "x").carry_out(LocalRun(), command, dict(os.environ), frozenset(), lambda: 5.0, quiet=True)
    assert ended.remote_id == "order 7"


def test_a_signal_ends_the_command_and_its_end_is_written_down(home: Home, tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path\n"
        "from app.agent.effect_run import Execution, LocalRun; from app.agent.home import Home\n"
        f"command = ('sh', '-c', 'touch {tmp_path}/begun; exec sleep 30')\n"
        f"Execution(Home(Path({str(tmp_path)!r})), 'x').carry_out(\n"
        "    LocalRun(), command, dict(os.environ), frozenset(), lambda: 5.0, quiet=True)\n"
    )
    root = str(Path(__file__).parents[2])
    process = subprocess.Popen([sys.executable, "-c", program], cwd=root, stdin=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while not (tmp_path / "begun").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    known = Execution(home, "x").known()
    assert known is not None
    assert (known.stage, known.outcome, known.exit_code) == ("ended", "unknown", -signal.SIGTERM)


def test_a_folder_that_serves_another_ticket_knows_nothing_of_its_effects(home: Home) -> None:
    names = []
    for ticket in (42, 43, Child(42, "docs")):
        claims = Claims(1, ticket, 1, "n1")
        identity = Identity("http://localhost", "acme/shop", ticket, claims, "arl_x")
        execution = Execution(home, effects._full_name(identity, "tag-1"))
        assert execution.known() is None
        names.append(execution.ask().attempt)
    assert len(set(names)) == 3


def test_two_programs_of_a_folder_do_not_run_one_effect(home: Home) -> None:
    with Execution(home, "x").alone():
        with Execution(home, "y").alone():
            pass
        with pytest.raises(Refused) as refusal, Execution(home, "x").alone():
            pass
    assert refusal.value.blocked.code is Code.EFFECT_RUNNING
    with Execution(home, "x").alone():
        pass


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("release tag=v1.2", {"type": "release", "tag": "v1.2"}),
        ("comment number=7 marker='deploy 42'", {"type": "comment", "number": 7, "marker": "deploy 42"}),
        ('{"type": "tag", "name": "v1"}', {"type": "tag", "name": "v1"}),
        ("http url=https://a.example.com/?a=b", {"type": "http", "url": "https://a.example.com/?a=b"}),
    ],
)
def test_a_probe_on_the_command_line(text: str, fields: dict[str, Any]) -> None:
    assert effects.read_probe(text).model_dump(mode="json", exclude_none=True) == fields


@pytest.mark.parametrize(("key", "kind"), [("deploy", "magic"), ("-deploy", "tag"), ("a b", "tag"), ("k" * 65, "tag")])
def test_what_is_no_effect_is_told_before_anything_is_asked(key: str, kind: str) -> None:
    with pytest.raises(Refused) as refusal:
        effects._intent(key, kind, None)
    assert refusal.value.blocked.code is Code.USAGE


@pytest.mark.parametrize("text", ["", "tag", "tag v1", "shell command=true", "tag name='v1", "{", "http url=http://a/"])
def test_what_is_no_probe_on_the_command_line(text: str) -> None:
    with pytest.raises(Refused) as refusal:
        effects.read_probe(text)
    assert refusal.value.blocked.code is Code.USAGE
