"""The one GET that a probe may make: real TLS to a real server, whose address alone is put in place of a public one."""

import asyncio
import datetime
import ipaddress
import ssl
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from app.controller import http_probe
from app.controller.http_probe import HttpGet, is_public
from app.domain.effect_probe import CannotTell, HttpProbe, NothingThere, Present

HOST, PUBLIC = "deploy.example.com", "93.184.216.34"


class Handler(BaseHTTPRequestHandler):
    seen: list[dict[str, str]]

    def do_GET(self) -> None:
        self.seen.append({"path": self.path, **{k.lower(): v for k, v in self.headers.items()}})
        status = int(self.path[1:4])
        body = {"/200?done": b'{"done": true}', "/200?large": b"x" * 70_000 + b"done"}.get(self.path, b"{}")
        self.send_response(status)
        if status == 302:
            self.send_header("location", f"https://{HOST}/200?done")
        self.send_header("set-cookie", "a=b")
        if self.path == "/200?slow":
            self.end_headers()
            self._trickle()
            return
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _trickle(self) -> None:
        try:
            for _ in range(100):
                self.wfile.write(b"x")
                self.wfile.flush()
                time.sleep(0.05)
        except OSError:
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Rerouted(httpx.AsyncBaseTransport):
    """Connects to the test's server where the public address was meant; everything else is as it is."""

    def __init__(self, port: int, certificate: Path) -> None:
        self.asked: list[httpx.URL] = []
        self._port = port
        self._inner = httpx.AsyncHTTPTransport(verify=ssl.create_default_context(cafile=str(certificate)))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url)
        request.url = request.url.copy_with(host="127.0.0.1", port=self._port)
        return await self._inner.handle_async_request(request)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "both.pem").write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    path = folder / "certificate.pem"
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    return path


@pytest.fixture
def server(certificate: Path) -> Iterator[tuple[int, list[dict[str, str]]]]:
    seen: list[dict[str, str]] = []
    handler = type("Bound", (Handler,), {"seen": seen})
    made = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.parent / "both.pem")
    made.socket = context.wrap_socket(made.socket, server_side=True)
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield made.server_address[1], seen
    made.shutdown()
    thread.join()
    made.server_close()


def asking(transport: Rerouted, *addresses: str, hosts: tuple[str, ...] = (HOST,)) -> HttpGet:
    async def resolve(host: str, port: int) -> tuple[str, ...]:
        return addresses or (PUBLIC,)

    return HttpGet(hosts, resolve=resolve, transport=transport)


@pytest.mark.parametrize(
    ("path", "contains", "kind", "words"),
    [
        ("/200?done", '"done": true', Present, "holds what was expected"),
        ("/200?done", None, Present, "answers 200"),
        ("/204", None, Present, "answers 204"),
        ("/200", '"done": true', NothingThere, "without what was expected"),
        ("/404", None, NothingThere, "404"),
        ("/410", None, NothingThere, "410"),
        ("/302", None, CannotTell, "302"),
        ("/401", None, CannotTell, "401"),
        ("/500", None, CannotTell, "500"),
        ("/200?large", "done", CannotTell, "larger than 64 KiB"),
        ("/200?slow", "done", CannotTell, "did not answer within"),
    ],
)
async def test_what_an_answer_says(
    server: tuple[int, list[dict[str, str]]],
    certificate: Path,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    contains: str | None,
    kind: type,
    words: str,
) -> None:
    monkeypatch.setattr(http_probe, "TIMEOUT_S", 1.5)
    transport = Rerouted(server[0], certificate)
    sighting = await asking(transport).look(HttpProbe(url=f"https://{HOST}{path}", contains=contains))
    assert isinstance(sighting, kind), sighting
    assert words in sighting.note
    assert [str(url.host) for url in transport.asked] == [PUBLIC]
    assert len(server[1]) == 1


async def test_nothing_of_ours_goes_along(
    server: tuple[int, list[dict[str, str]]], certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    get = asking(Rerouted(server[0], certificate))
    for _ in range(2):
        assert isinstance(await get.look(HttpProbe(url=f"https://{HOST.upper()}/200?done")), Present)
    for sent in server[1]:
        assert sent["host"].lower() == HOST
        assert not {"cookie", "authorization", "referer"} & sent.keys()


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "192.0.2.1",
        "198.18.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1%eth0",
        "fc00::1",
        "fec0::1",
        "ff02::1",
        "2001:db8::1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "2002:7f00:1::",
        "64:ff9b::a9fe:a9fe",
        "not an address",
    ],
)
async def test_a_name_that_leads_into_a_private_network_is_not_asked(
    server: tuple[int, list[dict[str, str]]], certificate: Path, address: str
) -> None:
    assert not is_public(address)
    transport = Rerouted(server[0], certificate)
    for addresses in ((address,), (PUBLIC, address)):
        sighting = await asking(transport, *addresses).look(HttpProbe(url=f"https://{HOST}/200"))
        assert isinstance(sighting, CannotTell)
    assert transport.asked == []


@pytest.mark.parametrize("address", [PUBLIC, "2606:2800:220:1:248:1893:25c8:1946", "::ffff:93.184.216.34"])
def test_public_addresses(address: str) -> None:
    assert is_public(address)
    ipaddress.ip_address(address)


@pytest.mark.parametrize(
    ("hosts", "url"),
    [
        ((), f"https://{HOST}/200"),
        (("other.example.com",), f"https://{HOST}/200"),
        ((HOST,), f"https://{HOST}:8443/200"),
        ((f"{HOST}:8443",), f"https://{HOST}/200"),
        (("example.com",), f"https://{HOST}/200"),
        ((HOST,), f"https://{HOST}.evil.example.com/200"),
    ],
)
async def test_only_hosts_that_the_operator_named_are_asked(
    server: tuple[int, list[dict[str, str]]], certificate: Path, hosts: tuple[str, ...], url: str
) -> None:
    transport = Rerouted(server[0], certificate)
    sighting = await asking(transport, hosts=hosts).look(HttpProbe(url=url))
    assert isinstance(sighting, CannotTell)
    assert "AGENT_RECOVERY_PROBE_HOSTS" in sighting.note
    assert transport.asked == []


async def test_another_hosts_certificate_is_no_answer(
    server: tuple[int, list[dict[str, str]]], certificate: Path
) -> None:
    other = "other.example.com"
    get = asking(Rerouted(server[0], certificate), hosts=(other,))
    assert isinstance(await get.look(HttpProbe(url=f"https://{other}/200")), CannotTell)
    assert server[1] == []


async def test_a_name_that_cannot_be_resolved_is_no_evidence() -> None:
    async def resolve(host: str, port: int) -> tuple[str, ...]:
        raise OSError("no such host")

    sighting = await HttpGet((HOST,), resolve=resolve).look(HttpProbe(url=f"https://{HOST}/"))
    assert sighting == CannotTell("the address could not be asked (OSError)")


async def test_looks_at_once_do_not_wait_for_each_other() -> None:
    async def resolve(host: str, port: int) -> tuple[str, ...]:
        await asyncio.sleep(0.2)
        return ("10.0.0.1",)

    get = HttpGet((HOST,), resolve=resolve)
    started = time.monotonic()
    await asyncio.gather(*(get.look(HttpProbe(url=f"https://{HOST}/{n}")) for n in range(5)))
    assert time.monotonic() - started < 0.9
