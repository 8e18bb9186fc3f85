"""Read-after-write lag: a list that shows the world as it was some requests or seconds ago.

While such an order is loaded, each write leaves a copy of the world as it was before. A list that the order hits is
answered from the oldest copy made within the order's window; git objects are shared, refs are copied. Reads of a
single object are never late, which is how GitHub's replicas most often show themselves.
"""

from __future__ import annotations

import copy
import json
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from app.emulator.faults import Fault
from app.emulator.repos import GitRepo
from app.emulator.routing import Request, Response
from app.emulator.traffic import Entry
from app.emulator.validators import etag

if TYPE_CHECKING:
    from app.emulator.server import Server
    from app.emulator.world import World

_KEPT = 256


class PastRefs(GitRepo):
    """A repository whose refs are as they were; its objects are those of the present."""

    def __init__(self, present: GitRepo) -> None:
        self.__dict__.update(present.__dict__)
        self._then = dict(present.refs())

    def ref(self, name: str) -> str | None:
        """The object a full ref name pointed at, or None."""
        return self._then.get(name)

    def refs(self, prefix: str = "refs/") -> list[tuple[str, str]]:
        """All refs of then whose full name begins with ``prefix``."""
        return sorted((name, oid) for name, oid in self._then.items() if name.startswith(prefix))


@dataclass(frozen=True)
class Moment:
    """The world before request ``n`` wrote; ``then`` leads from today's objects to that world's."""

    n: int
    at: float
    world: World
    then: dict[int, Any]


class Lag:
    """The last moments before writes, and the answers that come from them."""

    def __init__(self) -> None:
        self._moments: deque[Moment] = deque(maxlen=_KEPT)

    def remember(self, world: World, n: int) -> None:
        """Keep the world as it is before request ``n`` writes."""
        # What only the present has: the clock, the rate windows, the numbers given out, the network.
        present: tuple[object, ...] = (world.clock, world.rates, world.secondary, world.ids)
        present += (world.deliveries, world.switches, world.background)
        then: dict[int, Any] = {id(part): part for part in present}
        then |= {id(repo.git): PastRefs(repo.git) for repo in world.repos.values()}
        self._moments.append(Moment(n, world.clock.now(), copy.deepcopy(world, then), then))

    def answer(self, server: Server, fault: Fault, request: Request, entry: Entry, present: Response) -> Response:
        """The answer of then if this is a read of a list, else the present one."""
        moment = self._moment(fault, entry.n, request.world.clock.now())
        if moment is None or present.status != 200 or not _lists(present, entry):
            return present
        who = request.identity
        identity = replace(who, user=_then(moment, who.user), app=_then(moment, who.app))
        identity = replace(identity, installation=_then(moment, who.installation), token=_then(moment, who.token))
        past = server.dispatched(replace(request, world=moment.world, identity=identity), entry.kind)
        if past.status != 200:
            return present
        headers = {k: v for k, v in present.headers.items() if k not in ("link", "etag")} | past.headers
        if "etag" in present.headers:
            headers["etag"] = etag(who.key, past.body)
        return Response(past.status, past.body, headers)

    def _moment(self, fault: Fault, n: int, now: float) -> Moment | None:
        """The oldest moment in the order's window: its last ``after`` requests, or its last ``seconds``."""
        for moment in self._moments:
            if now - moment.at <= fault.seconds if fault.seconds else n - moment.n <= fault.after:
                return moment
        return None


def is_write(request: Request, entry: Entry) -> bool:
    """May the request change anything that a list shows?"""
    if entry.kind == "graphql":
        return b"mutation" in request.raw
    if entry.kind == "git":
        return request.path.endswith("/git-receive-pack")
    return request.method not in ("GET", "HEAD")


def _then(moment: Moment, part: Any) -> Any:
    return moment.then.get(id(part), part)


def _lists(response: Response, entry: Entry) -> bool:
    if entry.kind == "graphql":
        return True
    try:
        data = json.loads(response.body)
    except ValueError:
        return False
    return isinstance(data, list) or (isinstance(data, dict) and "total_count" in data)
