"""The command line: the agent's commands at the top, the other rooms' commands joined when they are called.

A room is imported only when one of its commands runs, so that the agent's install needs nothing of the service's.
"""

import importlib
import os
import runpy
import sys
import traceback
from dataclasses import dataclass

import typer

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
    "demo": Room("app.drill.cli", "server,emulator,drill", "Play the story of a recovery on a GitHub on this machine."),
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
            joined(args=_arguments(joined, name, context.args), prog_name=PROGRAM)
        except ModuleNotFoundError as missing:
            if missing.name is None or missing.name.partition(".")[0] == "app":
                raise
            print(
                f"{PROGRAM} {name} needs {missing.name}, which is not installed\n"
                f"next: pip install 'agent-recovery[{room.extra}]'",
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
    """The entry point of `agent-recovery`. What nobody expected is told without secrets, and ends with 70."""
    try:
        app(prog_name=PROGRAM)
    except Exception as error:
        from app.agent.show import scrub

        if os.environ.get("AGENT_RECOVERY_DEBUG"):
            print(scrub(traceback.format_exc()), file=sys.stderr)
        print(scrub(f"internal error: {type(error).__name__}: {error}"), file=sys.stderr)
        print("next: run it with AGENT_RECOVERY_DEBUG=1 and report what it prints", file=sys.stderr)
        raise SystemExit(70) from None


if __name__ == "__main__":
    main()
