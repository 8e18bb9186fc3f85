"""The commands about effects outside Git: `effect run`, `effect list`, `effect probe`.

Wanted property: a second `effect run` with the same key, here, in another folder or by the next holder, tells the first
result and runs nothing; it never concludes from silence that nothing happened.
"""

import json
import os
import shlex
import shutil
import time
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from app.agent import held, show, writes
from app.agent.api import Service
from app.agent.effect_run import KEY_VARIABLE, Execution, LocalRun
from app.agent.environment import usage
from app.agent.home import Home
from app.domain.attendance import of_holder
from app.domain.effect import Kind, needs_approval
from app.domain.effect_api import EffectIntent
from app.domain.effect_probe import PROBES, Probe
from app.domain.effect_state import EffectState
from app.domain.outcome import Blocked, Code, Exit, Refused

FAILED = 1
"""The exit code of an effect whose command failed and left nothing."""
_HEARTBEAT_S = 60.0
_RETELL_S = 5.0


def run(
    key: str,
    kind: str,
    probe: str | None,
    no_effect: tuple[int, ...],
    command: tuple[str, ...],
    *,
    dry_run: bool,
    as_json: bool,
) -> int:
    """`agent-recovery effect run`: the exit code. Raises Refused; with `effect_unknown` where nobody knows its end."""
    home = Home.find(Path.cwd())
    identity = held.identity(home)
    body = _intent(key, kind, probe)
    if not command or shutil.which(command[0]) is None:
        raise usage("the command after -- is missing or is not found here", "name a program that is on the PATH")
    if dry_run:
        _show_dry_run(body, command, as_json)
        return Exit.OK
    execution = Execution(home, _full_name(identity, key))
    with execution.alone(), _service(identity) as service:
        journal = _Journal(home, service, identity, key)
        state, ran = _carried_out(journal, execution, body, frozenset(no_effect), command, quiet=as_json)
    return _show_end(state, ran, as_json)


def list_(*, as_json: bool) -> None:
    """`agent-recovery effect list`."""
    home = Home.find(Path.cwd())
    identity = held.identity(home)
    with _service(identity) as service:
        listed = service.effects(identity.token)
    if as_json:
        show.data(listed.model_dump(mode="json"))
        return
    for effect in listed.effects:
        show.say(_line(effect))
    if listed.remembered:
        show.say(f"and {listed.remembered} older ones, of which key and outcome are kept")
    if not listed.effects and not listed.remembered:
        show.say("no effect was journaled")


def probe(key: str, *, as_json: bool) -> int:
    """`agent-recovery effect probe`: the exit code. Raises Refused."""
    home = Home.find(Path.cwd())
    identity = held.identity(home)
    with _service(identity) as service:
        state = _Journal(home, service, identity, key).look()
    return _show_end(state, False, as_json)


class _Journal:
    """The journal's side of one effect, through the service."""

    def __init__(self, home: Home, service: Service, identity: held.Identity, key: str) -> None:
        self._home, self._service, self._identity, self._key = home, service, identity, key
        lease = home.load(held.FILE, held.HeldLease)
        self._every_s = float(lease.heartbeat_every_s) if lease is not None else _HEARTBEAT_S
        self._warned = False
        self._next = time.monotonic() + self._every_s

    def intend(self, body: dict[str, Any]) -> EffectState:
        return self._say("effects", body)

    def go(self, run: LocalRun) -> EffectState:
        return self._say(f"effects/{self._key}/dispatch", {"attempt": run.attempt})

    def end(self, run: LocalRun) -> EffectState:
        told = run.model_dump(mode="json", include={"attempt", "outcome", "exit_code", "remote_id", "note"})
        return self._say(f"effects/{self._key}/result", told)

    def look(self) -> EffectState:
        return self._say(f"effects/{self._key}/probe", {})

    def beat(self) -> float:
        """A heartbeat when one is due; in how many seconds to call again. A lost lease is told and stops nothing: the
        command has begun.
        """
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + self._every_s
            try:
                self._service.heartbeat(self._identity.token, None)
            except Refused as refused:
                if refused.blocked.code is not Code.UNAVAILABLE and not self._warned:
                    self._warned = True
                    show.warn(f"{refused.blocked.reason}; the command has begun and goes on")
        return min(_RETELL_S, max(0.1, self._next - time.monotonic()))

    def environment(self) -> dict[str, str]:
        """The command's environment: everything but the lease token, and the key to give to the other side."""
        kept = {name: value for name, value in os.environ.items() if name != "AGENT_RECOVERY_LEASE_TOKEN"}
        return kept | {KEY_VARIABLE: _full_name(self._identity, self._key)}

    def _say(self, operation: str, body: dict[str, Any]) -> EffectState:
        answer = writes.send(self._home, self._service, self._identity, operation, body)
        if answer.effect is None:
            raise Refused(
                Blocked(
                    Code.UNAVAILABLE,
                    "the service does not say what became of the effect",
                    "check AGENT_RECOVERY_URL and the versions of both sides",
                )
            )
        return answer.effect


def _carried_out(
    journal: _Journal,
    execution: Execution,
    body: dict[str, Any],
    no_effect: frozenset[int],
    command: tuple[str, ...],
    *,
    quiet: bool,
) -> tuple[EffectState, bool]:
    """The effect as it is known afterwards, and whether its command was run by this very call."""
    before = execution.known()
    if before is not None and before.stage != "asked":
        # It was begun here and this folder was interrupted: its end is told, never its beginning repeated.
        return _told(journal, execution, before), False
    state = journal.intend(body)
    if state.state not in ("intended", "dispatching"):
        execution.settle()
        return (journal.look() if state.state == "unknown" else state), False
    run_ = execution.ask()
    state = journal.go(run_)
    if not state.go:
        # Somebody else's execution was let through: another folder's, or one whose traces here are lost.
        execution.settle()
        return (journal.look() if state.state in ("dispatching", "unknown") else state), False
    ended = execution.carry_out(run_, command, journal.environment(), no_effect, journal.beat, quiet=quiet)
    return _told(journal, execution, ended), True


def _told(journal: _Journal, execution: Execution, ended: LocalRun) -> EffectState:
    state = journal.end(ended)
    execution.settle()
    return journal.look() if state.state == "unknown" else state


def _intent(key: str, kind: str, probe: str | None) -> dict[str, Any]:
    kinds = ", ".join(k.value for k in Kind)
    if kind not in {k.value for k in Kind}:
        raise usage(f"there is no kind of effect {kind!r}", f"one of {kinds}")
    fields: dict[str, Any] = {"effect": key, "kind": kind}
    if probe is not None:
        fields["probe"] = read_probe(probe).model_dump(mode="json", exclude_none=True)
    try:
        EffectIntent.model_validate({**fields, "key": "k" * 8, "seq": 1})
    except ValidationError:
        raise usage(
            "the effect's key is no name", "at most 64 letters, digits, '.', '_' and '-', the first a letter or digit"
        ) from None
    return fields


def read_probe(text: str) -> Probe:
    """A probe as the command line writes it: its type and then name=value, or JSON. Raises Refused (`usage`)."""
    try:
        fields = json.loads(text) if text.lstrip().startswith("{") else _words(text)
        return PROBES.validate_python(fields)
    except ValidationError as error:
        told = "; ".join(f"{'.'.join(map(str, e['loc'][1:])) or 'type'}: {e['msg']}" for e in error.errors())
        raise usage(f"the probe cannot be used: {told}", "docs/effects.md lists the probes and their fields") from None
    except ValueError:
        raise usage("the probe is not written TYPE NAME=VALUE …", "for example --probe 'release tag=v1.2'") from None


def _words(text: str) -> dict[str, Any]:
    kind, *pairs = shlex.split(text)
    split = [pair.partition("=") for pair in pairs]
    if not all(sign for _, sign, _ in split):
        raise ValueError("not name=value")
    fields: dict[str, Any] = {"type": kind} | {name: value for name, _, value in split}
    number = fields.get("number")
    return fields | {"number": int(number)} if isinstance(number, str) and number.isdecimal() else fields


def _full_name(identity: held.Identity, key: str) -> str:
    """An effect's name among all effects of all tickets."""
    return f"{identity.claims.repository_id}-{identity.claims.ticket}-{key}"


def _service(identity: held.Identity) -> Service:
    return Service(identity.url, identity.repository, identity.ticket)


def _show_end(state: EffectState, ran: bool, as_json: bool) -> int:
    if state.state in ("confirmed", "failed_no_effect"):
        if as_json:
            show.data({"effect": state.model_dump(mode="json"), "ran": ran})
        else:
            show.say(_line(state) + ("" if ran else " (nothing was run now)"))
        return Exit.OK if state.state == "confirmed" else FAILED
    why = f": {state.note}" if state.note else ""
    looked = "its probe did not find it" if state.probe is not None else "it has no probe"
    raise Refused(
        Blocked(
            Code.EFFECT_UNKNOWN,
            f"nobody knows whether the effect {state.key} happened; {looked}{why}",
            "do not run it under another key; look yourself, and tell a person",
        )
    )


def _line(effect: EffectState) -> str:
    parts = [f"{effect.key}: {effect.state}"]
    if effect.kind:
        parts.append(effect.kind)
    if effect.by is not None:
        parts.append(f"says its {effect.by}" if effect.by in ("command", "probe") else f"says the {effect.by}")
    if effect.exit_code is not None:
        parts.append(f"exit code {effect.exit_code}")
    if effect.remote_id:
        parts.append(effect.remote_id)
    if effect.note:
        parts.append(effect.note)
    if effect.state == "intended" and effect.needs_approval:
        parts.append("waits for a person's approval")
    return ", ".join(parts)


def _show_dry_run(body: dict[str, Any], command: tuple[str, ...], as_json: bool) -> None:
    approval = needs_approval(str(body["kind"]), of_holder(None))
    if as_json:
        show.data({"dry_run": {**body, "command": list(command), "needs_approval": approval}})
        return
    show.say(f"dry run: would journal the effect {body['effect']} ({body['kind']}) and run {shlex.join(command)}")
    if approval:
        show.say("a person would have to approve it first")
