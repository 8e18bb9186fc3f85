"""The web application: the agent API, the git endpoint, the webhook's door, what the service says of itself."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from app import __version__
from app.service import agent_routes, child_routes, effect_routes, git_routes, lease_routes, status_routes
from app.service.bodies import BoundedBodies
from app.service.errors import install_error_handlers
from app.service.running import Parts, Running, make_parts
from app.service.settings import Settings

DESCRIPTION = """\
The agent's side of Agent Recovery: claim a ticket, learn all that a fresh agent must know, save checkpoints, hand off.

`brief` and `claim` carry a GitHub user token; every later call carries the lease token that the claim returned.
Every write carries a `key` that the caller saved before it called: the same key again gets the same answer, so a call
whose answer was lost is simply repeated. Every error carries `code`, `message` and `next_action`.
"""


class _WebhookDoor:
    """The webhook intake of the running service, as a plain ASGI callable: no framework between GitHub and the disk."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope["app"].state.running.parts.intake(scope, receive, send)


def create_app(settings: Settings, make: Callable[[Settings], Parts] = make_parts) -> FastAPI:
    """The service with these settings; its parts are made and started with the application's lifespan."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        running = Running(make(settings))
        app.state.running = running
        app.state.tickets = running.parts.loop
        app.state.callers = running.parts.callers
        running.start()
        try:
            yield
        finally:
            await running.stop()

    return _face(lifespan)


def describe_api() -> dict[str, Any]:
    """The OpenAPI description, as `/openapi.json` serves it and docs/openapi.json publishes it."""
    return _face(None).openapi()


def _face(lifespan: Any) -> FastAPI:
    app = FastAPI(
        title="Agent Recovery",
        version=__version__,
        description=DESCRIPTION,
        openapi_tags=[
            {"name": "agent", "description": "Six calls about one ticket."},
            {"name": "effects", "description": "Operations outside Git: before, leave to begin, after, and a look."},
            {"name": "children", "description": "Parts of a ticket: given out, listed, asked for anew, given back."},
            {"name": "status", "description": "What the service says of itself."},
        ],
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    install_error_handlers(app)
    app.add_middleware(BoundedBodies, prefix=agent_routes.API)
    app.router.routes.append(Route("/webhook", _WebhookDoor(), include_in_schema=False))
    app.include_router(agent_routes.router)
    app.include_router(effect_routes.router)
    app.include_router(child_routes.router)
    app.include_router(lease_routes.router)
    app.include_router(git_routes.router)
    app.include_router(status_routes.router)
    return app
