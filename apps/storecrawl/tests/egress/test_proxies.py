"""Requests through real forward proxies."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import Any

import pytest
from storecrawl.demo.upstream import LocalUpstream
from storecrawl.egress import DIRECT, Egress, EgressOptions, NoActiveRoute, NoUsableRoute, Recorder, RouteProtocol
from storecrawl.egress.repository import NewRoute
from storecrawl.egress.sessions import trusted_certificates
from storecrawl.images import Addresses, ImageClient, ImageUnavailable
from storecrawl.platforms.errors import RouteFailed

from .conftest import QUICK, Book

CANARY = "CANARY-5f1d"
ONLY_ONCE = replace(QUICK, retries=0)


@pytest.mark.parametrize("protocol", ["http", "socks5"])
@pytest.mark.parametrize("credentials", [None, ("me", CANARY)])
async def test_requests_go_through_the_route(
    upstream: LocalUpstream,
    book: Book,
    proxy: Any,
    make_client: Any,
    protocol: str,
    credentials: tuple[str, str] | None,
) -> None:
    through = await proxy(protocol=protocol, credentials=credentials)
    book.add(through)

    stores = await (await make_client(upstream.url)).stores()

    assert len(stores) == upstream.options.stores
    assert protocol == "socks5" or through.heads


async def test_password_can_come_from_the_workers_environment(
    upstream: LocalUpstream, book: Book, proxy: Any, make_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROXY_PASSWORD", CANARY)
    book.add(await proxy(credentials=("me", CANARY)), password=None, password_env="PROXY_PASSWORD")

    assert await (await make_client(upstream.url)).stores()


async def test_route_with_a_missing_variable_is_skipped_with_its_reason(
    upstream: LocalUpstream, book: Book, proxy: Any, make_client: Any, eventually: Any
) -> None:
    broken = book.add(await proxy(), username="me", password_env="NOT_SET_ANYWHERE")
    book.add()

    assert await (await make_client(upstream.url)).stores()
    await eventually(lambda: "NOT_SET_ANYWHERE" in (book.route(broken)["last_error"] or ""))


@pytest.mark.parametrize("protocol", ["http", "socks5"])
async def test_route_with_wrong_credentials_is_replaced_by_another(
    upstream: LocalUpstream, book: Book, proxy: Any, make_client: Any, eventually: Any, protocol: str
) -> None:
    through = await proxy(protocol=protocol, credentials=("me", "right"))
    wrong = book.add(through, password=CANARY)
    book.add()

    assert await (await make_client(upstream.url)).stores()
    await eventually(lambda: book.route(wrong)["failures"] == 1)
    assert book.route(wrong)["active"]


async def test_unreachable_proxy_is_a_failure_of_the_route(
    upstream: LocalUpstream, book: Book, make_client: Any
) -> None:
    book.add(protocol="http", host="127.0.0.1", port=9)

    with pytest.raises(RouteFailed):
        await (await make_client(upstream.url, ONLY_ONCE)).stores()


async def test_dead_proxy_counts_against_the_route_and_not_the_image_host(database: str, book: Book) -> None:
    route = book.add(protocol="http", host="127.0.0.1", port=9)

    async with Egress(EgressOptions(breaker_failures=1), recorder=Recorder(database)) as egress:
        with pytest.raises(ImageUnavailable):
            await ImageClient(egress, Addresses(["127.0.0.0/8"]), max_bytes=100).fetch("http://127.0.0.1:10/a.png")
        egress.breakers.admit("127.0.0.1")

    assert book.route(route)["last_error"].startswith("http://127.0.0.1:9: ConnectError")


@pytest.mark.parametrize("host", ["1.2.3.999", "no:host"])
async def test_route_with_an_invalid_address_is_skipped_with_its_reason(
    upstream: LocalUpstream, book: Book, make_client: Any, eventually: Any, host: str
) -> None:
    broken = book.add(protocol="http", host=host, port=1)
    book.add()

    assert await (await make_client(upstream.url)).stores()
    await eventually(lambda: "is not a valid address" in (book.route(broken)["last_error"] or ""))


async def test_proxy_that_does_not_speak_socks_is_a_failure_of_the_route(
    upstream: LocalUpstream, book: Book, make_client: Any
) -> None:
    mute = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    book.add(protocol="socks5", host="127.0.0.1", port=mute.sockets[0].getsockname()[1])

    async with mute:
        with pytest.raises(RouteFailed, match="does not speak SOCKS5"):
            await (await make_client(upstream.url, ONLY_ONCE)).stores()


@pytest.mark.parametrize("protocol", ["http", "socks5"])
async def test_password_appears_in_no_message(
    upstream: LocalUpstream,
    book: Book,
    proxy: Any,
    make_client: Any,
    caplog: pytest.LogCaptureFixture,
    protocol: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    book.add(await proxy(protocol=protocol, credentials=("me", "right")), password=CANARY)
    client = await make_client(upstream.url, ONLY_ONCE)

    with pytest.raises(RouteFailed) as raised:
        await client.stores()

    route = replace(DIRECT, protocol=RouteProtocol.HTTP, host="h", port=1, username="me", password=CANARY)
    texts = [
        caplog.text,
        str(raised.value),
        repr(raised.value.__cause__),
        repr(route),
        repr(route.proxy(trusted_certificates())),
        repr(NewRoute(protocol=RouteProtocol.HTTP, username="me", password=CANARY)),
        route.label,
    ]
    assert [text for text in texts if CANARY in text] == []


async def test_no_request_is_sent_without_a_route(database: str) -> None:
    with pytest.raises(NoActiveRoute, match="storecrawl routes add"):
        await Egress(recorder=Recorder(database)).__aenter__()


async def test_route_added_later_is_used_after_the_next_load(
    upstream: LocalUpstream, book: Book, make_client: Any, eventually: Any
) -> None:
    first = book.add()
    client = await make_client(upstream.url, reload_every=0.05)
    book.connection.execute(
        "update storecrawl.routes set active = false, disabled_at = now(), disabled_because = 'by hand'"
    )
    await eventually(lambda: _is_held_back(client))

    book.connection.execute("update storecrawl.routes set active = true, disabled_at = null, disabled_because = null")

    await eventually(lambda: _answers(client))
    await eventually(lambda: book.route(first)["successes"] > 0)


async def _is_held_back(client: Any) -> bool:
    try:
        await client.stores()
    except NoUsableRoute:
        return True
    return False


async def _answers(client: Any) -> bool:
    return not await _is_held_back(client)
