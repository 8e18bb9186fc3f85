"""One GET of an outside address, asked by a holder: what the service's own network position must not be lent for.

Wanted properties: only https, only hosts that the operator named; an address that is not of the public internet is
refused after the name was resolved, and the connection goes to the very address that was checked; no redirect is
followed, no proxy, cookie or credential is used; five seconds and 64 KiB bound the whole.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import urlsplit

import httpx

from app.domain.effect_probe import CannotTell, HttpProbe, NothingThere, Present, Sighting

TIMEOUT_S = 5.0
MAX_BYTES = 64 * 1024
NOT_THERE = frozenset({404, 410})

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


async def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses of a host, as this machine resolves it. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def is_public(address: str) -> bool:
    """Whether an IP address is of the public internet: not private, loopback, link-local, shared, reserved, multicast,
    nor one of those written as an IPv6 address.
    """
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None) or _nat64(ip)
        if inner is not None:
            return is_public(str(inner))
        if ip.is_site_local:
            return False  # private addresses of old, which `is_global` does not know
    return ip.is_global and not (ip.is_multicast or ip.is_reserved or ip.is_unspecified)


def _nat64(ip: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF) if ip in ipaddress.ip_network("64:ff9b::/96") else None


class HttpGet:
    """Asks outside addresses. `hosts`: those that the operator allowed, each with a port where it is not 443."""

    def __init__(
        self,
        hosts: Sequence[str] = (),
        *,
        resolve: Resolve = resolve,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._hosts = frozenset(host.lower() for host in hosts)
        self._resolve = resolve
        self._transport = transport

    async def look(self, probe: HttpProbe) -> Sighting:
        """What the address says. Never raises: a look that fails is no evidence."""
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await self._look(probe)
        except TimeoutError:
            return CannotTell(f"the address did not answer within {TIMEOUT_S:.0f} s")
        except (OSError, httpx.HTTPError, UnicodeError) as error:
            return CannotTell(f"the address could not be asked ({type(error).__name__})")

    async def _look(self, probe: HttpProbe) -> Sighting:
        parts = urlsplit(probe.url)
        host, port = (parts.hostname or "").lower(), parts.port or 443
        if not {host if port == 443 else None, f"{host}:{port}"} & self._hosts:
            return CannotTell("the operator of the service does not allow this host (AGENT_RECOVERY_PROBE_HOSTS)")
        addresses = await self._resolve(host, port)
        if not addresses or not all(is_public(address) for address in addresses):
            return CannotTell("the host's address is not one of the public internet")
        return await self._ask(probe, host, port, addresses[0])

    async def _ask(self, probe: HttpProbe, host: str, port: int, address: str) -> Sighting:
        # To the address that was checked, and not to the name: a second look-up could answer otherwise.
        url = httpx.URL(probe.url).copy_with(host=address)
        name = host if port == 443 else f"{host}:{port}"
        headers = {"Host": name, "User-Agent": "agent-recovery", "Accept-Encoding": "identity"}
        async with (
            httpx.AsyncClient(
                transport=self._transport, trust_env=False, follow_redirects=False, timeout=TIMEOUT_S
            ) as client,
            client.stream("GET", url, headers=headers, extensions={"sni_hostname": host}) as answer,
        ):
            status = answer.status_code
            if status in NOT_THERE:
                return NothingThere(f"the address answers {status}")
            if not 200 <= status < 300:
                return CannotTell(f"the address answers {status}")
            if probe.contains is None:
                return Present(f"the address answers {status}", probe.url)
            body = b""
            async for part in answer.aiter_raw():
                body += part
                if len(body) > MAX_BYTES:
                    return CannotTell(f"the answer is larger than {MAX_BYTES // 1024} KiB")
        if probe.contains in body.decode("utf-8", "replace"):
            return Present(f"the address answers {status} and holds what was expected", probe.url)
        return NothingThere(f"the address answers {status} without what was expected")
