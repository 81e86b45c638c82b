"""Requests to an https upstream, which go through a tunnel if there is a proxy."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trustme
from storecrawl.cli import run
from storecrawl.demo.upstream import FaultDial, FaultKind, LocalUpstream
from storecrawl.egress import Egress, RouteBlamed
from storecrawl.platforms.errors import Blocked, RouteFailed, Untrusted

from rolecall import ConfigError

from .conftest import QUICK, Book
from .forward_proxy import ForwardProxy
from .tls_door import speaking_as, tls_door

CANARY = "CANARY-71c4"
HERE = "127.0.0.1"
ONLY_ONCE = replace(QUICK, retries=0)
PROTOCOLS = ["http", "https", "socks5"]


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> trustme.CA:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    return authority


@pytest.fixture
def door(upstream: LocalUpstream, authority: trustme.CA) -> Any:
    return lambda name=HERE, signer=authority: tls_door(upstream.url, speaking_as(signer, name))


@pytest.fixture
async def address(door: Any) -> AsyncIterator[str]:
    async with door() as address:
        yield address


@pytest.fixture
def secure(address: str, make_client: Any) -> Any:
    return partial(make_client, address)


@pytest.fixture
def start_proxy(proxy: Any, authority: trustme.CA) -> Any:
    async def start(protocol: str, **how: Any) -> ForwardProxy:
        tls = speaking_as(authority, HERE) if protocol == "https" else None
        started: ForwardProxy = await proxy(protocol=protocol, **({"tls": tls} | how))
        return started

    return start


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_proxy_sees_the_target_of_a_tunnel_but_not_its_content(
    upstream: LocalUpstream, address: str, book: Book, start_proxy: Any, make_client: Any, protocol: str
) -> None:
    through = await start_proxy(protocol, credentials=("me", CANARY))
    book.add(through)

    stores = await (await make_client(address)).stores()

    assert len(stores) == upstream.options.stores
    whereto = "me" if protocol == "socks5" else f"CONNECT {address.removeprefix('https://')} HTTP/1.1"
    assert {head.split("\r\n")[0] for head in through.heads} == {whereto}
    assert "graphql" not in "".join(through.heads)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_rejected_proxy_credentials_are_reported_with_the_route_without_the_password(
    book: Book, start_proxy: Any, secure: Any, eventually: Any, caplog: Any, protocol: str
) -> None:
    caplog.set_level(logging.DEBUG)
    through = await start_proxy(protocol, credentials=("me", "right"))
    route = book.add(through, password=CANARY)

    with pytest.raises(RouteFailed, match="rejects the route's credentials") as raised:
        await (await secure(ONLY_ONCE)).stores()

    await eventually(lambda: book.route(route)["failures"] == 1)
    texts = [str(raised.value), book.route(route)["last_error"]]
    assert [f"{protocol}://{HERE}:{through.port}" in text for text in texts] == [True, True]
    assert CANARY not in "".join([*texts, repr(raised.value.__cause__), caplog.text])


@pytest.mark.parametrize("protocol", ["http", "https"])
async def test_proxys_own_403_counts_as_forbidden_and_names_the_proxy(
    book: Book, start_proxy: Any, secure: Any, eventually: Any, protocol: str
) -> None:
    wall = await start_proxy(protocol, forbids=True)
    route, client = book.add(wall), await secure(ONLY_ONCE)

    for state in ("AZ", "CO"):
        with pytest.raises(
            Blocked, match=f"blocked by the proxy {protocol}://{HERE}:{wall.port}, which rejects the tunnel"
        ):
            await client.stores(state=state)
    with pytest.raises(RouteBlamed):
        await client.stores(state="NV")

    await eventually(lambda: book.route(route)["paused_until"])
    assert "which rejects the tunnel" in book.route(route)["last_error"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_upstreams_403_in_the_tunnel_is_attributed_to_the_upstream(
    upstream: LocalUpstream, book: Book, start_proxy: Any, secure: Any, eventually: Any, protocol: str
) -> None:
    route = book.add(await start_proxy(protocol))
    upstream.set_failures(FaultDial(failure_rate=1.0, weights={FaultKind.BLOCKED: 1.0}))

    with pytest.raises(Blocked, match="blocked by the upstream"):
        await (await secure(ONLY_ONCE)).stores()

    await eventually(lambda: len(book.route(route)["forbidden_with"]) == 1)


@pytest.mark.parametrize("protocol", ["direct", *PROTOCOLS])
async def test_wrong_certificate_is_reported_immediately_and_not_retried(
    door: Any, book: Book, start_proxy: Any, make_client: Any, eventually: Any, protocol: str
) -> None:
    through = None if protocol == "direct" else await start_proxy(protocol)
    route = book.add(through)

    async with door("elsewhere.example") as address:
        with pytest.raises(Untrusted, match=f"certificate of {HERE} is not trusted: .*, over route {protocol}"):
            await (await make_client(address)).stores()

    assert not Untrusted.retryable
    await eventually(lambda: book.route(route)["failures"] == 1)
    assert "is not trusted" in book.route(route)["last_error"]


async def test_upstream_with_an_untrusted_certificate_is_rejected(door: Any, book: Book, make_client: Any) -> None:
    book.add()

    async with door(signer=trustme.CA()) as address:
        with pytest.raises(Untrusted, match="unable to get local issuer certificate"):
            await (await make_client(address)).stores()


async def test_proxy_with_a_wrong_certificate_is_replaced_by_another_route(
    book: Book, start_proxy: Any, secure: Any, eventually: Any
) -> None:
    wrong = book.add(await start_proxy("https", tls=speaking_as(trustme.CA(), HERE)))
    book.add()

    assert await (await secure()).stores()
    await eventually(lambda: "its certificate" in (book.route(wrong)["last_error"] or ""))


async def test_file_without_certificates_is_rejected_immediately(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "no.pem").write_text("not a certificate")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "no.pem"))

    with pytest.raises(ConfigError, match="cannot read certificates") as raised:
        Egress()

    assert raised.value.variable == "SSL_CERT_FILE"


async def test_route_is_tested_through_its_tunnel(
    address: str, book: Book, start_proxy: Any, database: str, capsys: Any
) -> None:
    good = book.add(await start_proxy("http", credentials=("me", CANARY)))
    wall = book.add(await start_proxy("http", forbids=True))

    codes = [
        await asyncio.to_thread(run, ["routes", "test", str(route), "--url", address, "--database-url", database])
        for route in (good, wall)
    ]

    output = capsys.readouterr().out
    assert codes == [0, 1]
    assert "which rejects the tunnel" in output
