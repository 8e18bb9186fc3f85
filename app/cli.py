"""The command line: the agent's commands at the top, the other rooms' commands joined when they are called.

A room is imported only when one of its commands runs, so that the agent's install needs nothing of the service's.
"""

import errno
import importlib
import json
import os
import runpy
import sys
import traceback
from dataclasses import dataclass

import typer
from typer.exceptions import TyperException

from app.agent.cli import app as agent_app

PROGRAM = "agent-recovery"


@dataclass(frozen=True)
class Room:
    """Where a command lives: `module.app` is a typer application that has it; `extra` is what its imports need."""

    module: str
    extra: str
    help: str


ROOMS = {
    "serve": Room("app.service.cli", "server", "Run the service: webhooks, agent API, the loop."),
    "keys": Room("app.service.cli", "server", "Make the operator's keys."),
    "rebuild": Room("app.service.rebuild_cli", "server", "Begin a frozen ticket's ledger anew, by a person's word."),
    "plan": Room("app.service.plan_cli", "server", "Show what the App would do in a repository; writes nothing."),
    "init": Room("app.service.init_cli", "server", "Propose a policy to a repository, in a pull request."),
    "stop": Room("app.service.stop_cli", "server", "Write nothing more to a repository."),
    "start": Room("app.service.stop_cli", "server", "Let the App write to a stopped repository again."),
    "uninstall": Room("app.service.uninstall_cli", "server", "Remove from a repository what the App made."),
    "doctor": Room("app.doctor.cli", "server", "Say how a repository stands; try what is relied on in a sandbox."),
    "approve": Room("app.service.effect_cli", "server", "Let a holder do one effect that cannot be undone."),
    "resolve": Room("app.service.effect_cli", "server", "Say how an effect ended that nobody knows the end of."),
    "hold": Room("app.service.person_cli", "server", "Put a ticket on hold: no claim, no write, no landing."),
    "unhold": Room("app.service.person_cli", "server", "Take a ticket off hold."),
    "cancel": Room("app.service.person_cli", "server", "End a ticket by a person's word."),
    "bring-back": Room("app.service.person_cli", "server", "Let a cancelled ticket be claimed again."),
    "takeover": Room("app.service.person_cli", "server", "End a lease, also one whose holder lives."),
    "retarget": Room("app.service.person_cli", "server", "Move a ticket to another trunk."),
    "land": Room("app.service.person_cli", "server", "Have exactly one published head land."),
    "accept": Room("app.service.person_cli", "server", "Let a foreign head count as published."),
    "revoke-release": Room("app.service.release_cli", "server", "Let nothing of a release be authorized any more."),
    "rebuild-release": Room("app.service.release_cli", "server", "Begin a frozen release's ledger anew."),
    "demo": Room("app.drill.cli", "server,emulator,drill", "Play the story of a recovery on a GitHub on this machine."),
    "audit": Room("app.drill.audit.cli", "drill", "Look for contradictions between tickets and their ledgers."),
    "emulator": Room("app.emulator.__main__", "emulator", "Run a GitHub on this machine."),
}

_PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}

app = typer.Typer(
    help="A fresh agent goes on with a ticket after the last one died.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.add_typer(agent_app)


def _join(name: str, room: Room) -> None:
    @app.command(name, help=room.help, context_settings=_PASS_ON, add_help_option=False)
    def run(context: typer.Context) -> None:
        try:
            if room.module.endswith(".__main__"):
                sys.argv = [f"{PROGRAM} {name}", *context.args]
                runpy.run_module(room.module, run_name="__main__", alter_sys=False)
                return
            joined: typer.Typer = importlib.import_module(room.module).app
            code = joined(
                args=_arguments(joined, name, context.args), prog_name=PROGRAM, standalone_mode=not _wants_json()
            )
            if isinstance(code, int):
                raise typer.Exit(code)
        except ModuleNotFoundError as missing:
            if missing.name is None or missing.name.partition(".")[0] == "app":
                raise
            print(
                f"{PROGRAM} {name} needs {missing.name}, which is not installed\n"
                f"next: pip install '.[{room.extra}]' in the source tree of {PROGRAM}",
                file=sys.stderr,
            )
            raise typer.Exit(2) from None


def _arguments(joined: typer.Typer, name: str, rest: list[str]) -> list[str]:
    # typer makes an application with one command and no callback that command itself.
    alone = len(joined.registered_commands) == 1 and not joined.registered_groups and not joined.registered_callback
    return list(rest) if alone else [name, *rest]


for _name, _room in ROOMS.items():
    _join(_name, _room)


def main() -> None:
    """The entry point of `agent-recovery`. A wrong call is told in the form that was asked for and ends with 2; what
    nobody expected is told without secrets, and ends with 70.
    """
    _open_streams()
    try:
        _run()
    except TyperException as wrong:
        raise SystemExit(_wrong_call(wrong)) from None
    except typer.Abort:
        raise SystemExit(130) from None
    except Exception as error:
        from app.agent.show import scrub

        if os.environ.get("AGENT_RECOVERY_DEBUG"):
            print(scrub(traceback.format_exc()), file=sys.stderr)
        _internal(f"internal error: {type(error).__name__}: {error}")
        raise SystemExit(70) from None


def _run() -> None:
    """Runs the command and sees to it that its outcome is written. Raises SystemExit with its code."""
    try:
        code = app(prog_name=PROGRAM, standalone_mode=not _wants_json())
    except SystemExit as end:
        code = end.code
    except OSError as error:
        if error.errno not in _OF_OUTPUT or error.filename is not None:
            raise
        raise SystemExit(_nobody_reads(error)) from None
    try:
        sys.stdout.flush()
    except OSError as error:
        raise SystemExit(_nobody_reads(error)) from None
    raise SystemExit(code)


_OF_OUTPUT = frozenset({errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EBADF})


def _wants_json() -> bool:
    # With a value it is a wrong call, and who wrote it wants to read of that in JSON.
    return any(word == "--json" or word.startswith("--json=") for word in sys.argv[1:])


def _open_streams() -> None:
    """A closed standard stream is a trap: the next file opened would take its number, and git's output would go there.
    Ends the program where there is nobody to tell the outcome to.
    """
    closed = [number for number in range(3) if not _is_open(number)]
    for number in closed:
        nowhere = os.open(os.devnull, os.O_RDWR)
        if nowhere != number:
            os.dup2(nowhere, number)
            os.close(nowhere)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - lives as long as the program
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        print("standard output is closed, so the outcome could not be told; nothing was done", file=sys.stderr)
        print("next: run it with standard output open, or send it to a file or to /dev/null", file=sys.stderr)
        raise SystemExit(2)


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _wrong_call(wrong: TyperException) -> int:
    """Tells of a call that the command line does not take, as JSON where JSON was asked for."""
    from app.agent.show import line

    context = getattr(wrong, "ctx", None)
    command = context.command_path if context is not None else PROGRAM
    words = line(_words(wrong)) or "no command was given"
    _print_error("usage", words, f"run `{command} --help` and correct the call")
    return 2


def _internal(words: str) -> None:
    """Tells of a fault of this program, as JSON where JSON was asked for."""
    from app.agent.show import line, scrub

    remedy = "run it with AGENT_RECOVERY_DEBUG=1 and report what it prints"
    if _wants_json():
        _print_error("internal", line(words), remedy)
    else:
        print(scrub(words), file=sys.stderr)
        print(f"next: {remedy}", file=sys.stderr)


def _print_error(code: str, message: str, next_action: str) -> None:
    """One JSON object on standard output, of the form in which every refusal is told."""
    error = {
        "code": code,
        "message": message,
        "next_action": next_action,
        "retryable": False,
        "holder": None,
        "generation": None,
    }
    print(json.dumps({"error": error}, indent=2))


def _words(wrong: TyperException) -> str:
    # The name of the argument stands only in the formatted message, which not every kind has.
    formatted = getattr(wrong, "format_message", None)
    return str(formatted() if callable(formatted) else wrong)


def _nobody_reads(error: OSError) -> int:
    """Tells that the outcome could not be written. Whatever was done stands."""
    # Nothing is left to be flushed at the end: that would fail once more.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    print(
        f"the outcome could not be written to standard output: {error.strerror}; what was done stands", file=sys.stderr
    )
    print("next: run the same command again where its output can be written", file=sys.stderr)
    return 2


if __name__ == "__main__":
    main()
