"""`agent-recovery serve` and `agent-recovery keys new`."""

import asyncio
import json
import signal
import socket
import sys
from pathlib import Path
from typing import Annotated

import typer
import uvicorn
from sqlalchemy.exc import SQLAlchemyError

from app.domain.outcome import Exit
from app.service.app import create_app
from app.service.keys import new_keys, write_key_files
from app.service.logs import set_up_logs
from app.service.running import make_parts
from app.service.settings import BadSettings, Settings, load_settings

ANSWER_WITHIN_S = 5
"""How long requests that run may go on after the signal to stop, before the rounds get their 20 seconds."""

app = typer.Typer(no_args_is_help=True, help="The service's side of Agent Recovery.")
keys = typer.Typer(no_args_is_help=True, help="The operator's keys.")
app.add_typer(keys, name="keys")


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on (AGENT_RECOVERY_HOST).")] = None,
    port: Annotated[int | None, typer.Option(help="Port; 0 lets the system choose (AGENT_RECOVERY_PORT).")] = None,
) -> None:
    """Run the service until SIGTERM or SIGINT. Settings come from the environment: docs/configuration.md.

    Prints one JSON line with its address once it answers; logs go to stderr.
    """
    try:
        settings = load_settings(host=host, port=port)
    except BadSettings as bad:
        typer.echo(str(bad), err=True)
        raise typer.Exit(Exit.USAGE) from None
    set_up_logs()
    sys.exit(asyncio.run(_serve(settings)))


async def _serve(settings: Settings) -> int:
    try:
        parts = make_parts(settings)
    except (SQLAlchemyError, ValueError) as problem:
        reason = f"the database cannot be used ({type(problem).__name__}); check AGENT_RECOVERY_DATABASE_URL"
        typer.echo(f"The service cannot start: {reason}", err=True)
        return Exit.USAGE
    config = uvicorn.Config(
        create_app(settings, lambda _: parts),
        host=settings.host,
        port=settings.port,
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=ANSWER_WITHIN_S,
    )
    try:
        listener = _listen(settings.host, settings.port)
    except OSError as problem:
        why = (problem.strerror or type(problem).__name__).lower()
        typer.echo(f"The service cannot listen on {settings.host} port {settings.port}: {why}", err=True)
        typer.echo("next: choose another --host or --port (0 lets the system choose), or end what uses it", err=True)
        return Exit.USAGE
    server = _AnnouncingServer(config)
    for number in (signal.SIGTERM, signal.SIGINT):
        # uvicorn handles both while it serves, and raises them again afterwards: that must not end us by signal.
        signal.signal(number, lambda _number, _frame: None)
    try:
        await server.serve(sockets=[listener])
    except SystemExit:
        # uvicorn's own code for a failed start would read as "fenced out".
        typer.echo("The service cannot start: what it needs does not work; the log above says what", err=True)
        typer.echo("next: mend that and start it again", err=True)
        return Exit.UNAVAILABLE
    return Exit.OK if server.started else Exit.UNAVAILABLE


def _listen(host: str, port: int) -> socket.socket:
    """A bound socket. Raises OSError where the address does not exist or is in use."""
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
        # At once: two that are bound and do not listen yet would both believe the port theirs.
        listener.listen(2048)
    except OSError:
        listener.close()
        raise
    return listener


class _AnnouncingServer(uvicorn.Server):
    """Says where it listens once it does, for whoever chose port 0."""

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        await super().startup(sockets)  # type: ignore[arg-type]
        if self.started:
            port = self.servers[0].sockets[0].getsockname()[1]
            host = f"[{self.config.host}]" if ":" in self.config.host else self.config.host
            print(json.dumps({"url": f"http://{host}:{port}"}), flush=True)


@keys.command("new")
def keys_new(
    folder: Annotated[
        Path | None, typer.Option("--folder", help="Write the keys into files here (mode 0600) instead of printing.")
    ] = None,
) -> None:
    """Make seal keys, lease keys and a webhook secret. The App's private key is made on its page on GitHub."""
    made = new_keys()
    if folder is None:
        for name, value in made.settings().items():
            typer.echo(f"{name}={value}")
        return
    try:
        written = write_key_files(made, folder)
    except OSError as problem:
        typer.echo(f"No keys were written: {problem}", err=True)
        raise typer.Exit(Exit.USAGE) from None
    for name, path in written.items():
        typer.echo(f"{name}={path}")
