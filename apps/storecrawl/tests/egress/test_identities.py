"""Client identities: one per visit, with its cookies and few open connections."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from random import Random
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route as Route_
from storecrawl.demo.upstream import LocalUpstream
from storecrawl.egress import DIRECT, Egress, Route, RouteProtocol, load_profiles
from storecrawl.egress.sessions import Sessions, trusted_certificates

from apps.storecrawl.tests.platforms.conftest import serving_app

from .conftest import Book


def proxies(number: int) -> list[Route]:
    return [Route(id=each, protocol=RouteProtocol.HTTP, host="127.0.0.1", port=each) for each in range(1, number + 1)]


def user_agents(heads: list[str]) -> set[str]:
    return {head.lower().split("user-agent: ")[1].split("\r\n")[0] for head in heads}


async def test_complete_menu_is_fetched_with_one_identity(
    upstream: LocalUpstream, book: Book, proxy: Any, make_client: Any
) -> None:
    one, other = await proxy(), await proxy()
    book.add(one), book.add(other)
    client = await make_client(upstream.url)
    store = (await client.stores())[0]
    before = [len(each.heads) for each in (one, other)]

    await client.menu(store.id)

    request_counts = [len(each.heads) - number for each, number in zip((one, other), before, strict=True)]
    assert sorted(map(bool, request_counts)) == [False, True]
    assert max(len(user_agents(each.heads)) for each in (one, other)) == 1


async def test_location_of_a_route_is_sent_and_its_language_stays(
    upstream: LocalUpstream, book: Book, proxy: Any, make_client: Any
) -> None:
    through = await proxy()
    book.add(through, city="Berlin", country="DE", timezone="Europe/Berlin")

    await (await make_client(upstream.url)).stores()

    sent = through.heads[0].lower()
    assert "time-zone: europe/berlin" in sent
    assert "accept-language: en-us,en;q=0.9" in sent


async def test_identity_keeps_its_cookies_and_the_next_one_has_none() -> None:
    seen: list[str | None] = []

    async def respond(request: Request) -> Response:
        seen.append(request.cookies.get("session"))
        response = JSONResponse({})
        response.set_cookie("session", "s1")
        return response

    egress = Egress()
    async with serving_app(Starlette(routes=[Route_("/", respond)])) as url:
        for is_forbidden in (False, True, False):
            async with egress.visit("here") as visit:
                session = await visit.ready()
                await session.http.get(url)
                await (visit.record_forbidden("HTTP 403") if is_forbidden else _succeed(visit))
    await egress.close()

    assert seen == [None, "s1", None]


async def test_only_the_most_recently_used_routes_keep_their_connections() -> None:
    sessions = _sessions(most=2)
    made = [await sessions.of(route, ()) for route in proxies(3)]
    for session in made:
        await session.end()

    assert [session.http.is_closed for session in made] == [True, False, False]
    await sessions.close()
    assert all(session.http.is_closed for session in made)


async def test_active_session_is_not_closed_when_newer_ones_evict_it() -> None:
    sessions = _sessions(most=1)
    first, *_ = [await sessions.of(route, ()) for route in proxies(2)]

    states = [first.http.is_closed]
    await first.end()
    states.append(first.http.is_closed)
    await sessions.close()

    assert states == [False, True]


async def test_changed_route_gets_one_new_session_for_concurrent_callers() -> None:
    sessions = _sessions(most=2)
    [route] = proxies(1)
    old = await sessions.of(route, ())
    await old.end()

    several = await asyncio.gather(*(sessions.of(replace(route, port=99), ()) for _ in range(3)))
    for session in several:
        await session.end()
    await sessions.close()

    assert (len(set(several)), old in several, old.http.is_closed) == (1, False, True)


async def test_forbidden_profile_is_not_reused_while_others_are_available() -> None:
    names = [profile.name for profile in load_profiles()]
    sessions = _sessions(most=1)

    session = await sessions.of(DIRECT, names[1:])
    await session.end()
    await sessions.close()

    assert session.profile.name == names[0]


async def _succeed(visit: Any) -> None:
    visit.record_success()


def _sessions(*, most: int) -> Sessions:
    return Sessions(load_profiles(), trust=trusted_certificates(), most=most, random=Random(1))
