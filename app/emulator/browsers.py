"""Requests that a page elsewhere makes somebody's browser send; the control path has no credentials to stop them."""

from __future__ import annotations

from urllib.parse import urlsplit

from app.emulator.routing import Request

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_OWN = ("same-origin", "none")


def from_elsewhere(request: Request) -> bool:
    """Is it from another origin, or under a name that leads here only by DNS?

    Names are judged where the emulator listens on the loopback alone, as it does unless told otherwise.
    """
    if request.headers.get("sec-fetch-site", "none") not in _OWN:
        return True
    host = request.headers.get("host", "")
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != host:
        return True
    own = urlsplit(request.world.url).hostname
    return own in _LOOPBACK and not request.believed_host and urlsplit(f"//{host}").hostname not in _LOOPBACK
