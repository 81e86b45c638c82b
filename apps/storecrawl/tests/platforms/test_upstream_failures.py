"""Each kind of failure has a typed outcome."""

from __future__ import annotations

from dataclasses import replace

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from storecrawl.demo.upstream import FaultDial, FaultKind, LocalUpstream
from storecrawl.platforms.dutchie import Kind, MenuMode, UpstreamClient
from storecrawl.platforms.errors import (
    Blocked,
    ForeignRedirect,
    RateLimited,
    SchemaDrift,
    Truncated,
    Unavailable,
    UpstreamError,
    UpstreamFailure,
)

from .conftest import QUICK, ClientFor, Serve

ONLY_ONCE = replace(QUICK, retries=0)
OUTCOMES = [
    (FaultKind.BLOCKED, Blocked),
    (FaultKind.RATE_LIMITED, RateLimited),
    (FaultKind.UNAVAILABLE, Unavailable),
    (FaultKind.ERRORS, UpstreamError),
    (FaultKind.SCHEMA_DRIFT, SchemaDrift),
    (FaultKind.FOREIGN_REDIRECT, ForeignRedirect),
    (FaultKind.CUT, Unavailable),
]
"""Without empty and cut first pages, which are not failures of a request and are tested below."""


def always(kind: FaultKind, **settings: float) -> FaultDial:
    return FaultDial(failure_rate=1.0, weights={kind: 1.0}, retry_after_seconds=0, **settings)


async def first_store_id(client: UpstreamClient) -> str:
    stores = await client.stores()
    return max(stores, key=lambda store: store.slug).id


@pytest.mark.parametrize(("kind", "outcome"), OUTCOMES)
async def test_failing_menu_page_raises_the_error_of_its_kind(
    upstream: LocalUpstream, client_for: ClientFor, kind: FaultKind, outcome: type[UpstreamFailure]
) -> None:
    client = client_for(upstream.url, ONLY_ONCE)
    store = await first_store_id(client)
    upstream.set_failures(always(kind))

    with pytest.raises(outcome) as raised:
        await client.menu(store)

    assert type(raised.value) is outcome
    assert raised.value.retryable


@pytest.mark.parametrize(("kind", "outcome"), OUTCOMES)
async def test_failing_store_lookup_raises_the_error_of_its_kind(
    upstream: LocalUpstream, client_for: ClientFor, kind: FaultKind, outcome: type[UpstreamFailure]
) -> None:
    upstream.set_failures(always(kind))

    with pytest.raises(outcome) as raised:
        await client_for(upstream.url, ONLY_ONCE).stores()

    assert type(raised.value) is outcome


async def test_response_after_the_timeout_is_unavailable(upstream: LocalUpstream, client_for: ClientFor) -> None:
    upstream.set_failures(always(FaultKind.SLOW, slow_seconds=5.0))

    with pytest.raises(Unavailable, match=r"within 0\.2 s"):
        await client_for(upstream.url, replace(ONLY_ONCE, timeout=0.2)).stores()


async def test_slow_response_before_the_timeout_is_accepted(upstream: LocalUpstream, client: UpstreamClient) -> None:
    upstream.set_failures(always(FaultKind.SLOW, slow_seconds=0.05))

    assert len(await client.stores()) == upstream.options.stores


async def test_failed_request_is_retried_three_times_and_then_raised(
    upstream: LocalUpstream, client: UpstreamClient
) -> None:
    upstream.set_failures(always(FaultKind.UNAVAILABLE))

    with pytest.raises(Unavailable):
        await client.stores()

    assert upstream.stats()["faults"]["unavailable"] == 4


async def test_rate_limit_error_contains_the_wait(upstream: LocalUpstream, client_for: ClientFor) -> None:
    weights = {FaultKind.RATE_LIMITED: 1.0}
    upstream.set_failures(FaultDial(failure_rate=1.0, weights=weights, retry_after_seconds=120))

    with pytest.raises(RateLimited) as raised:
        await client_for(upstream.url, QUICK).stores()

    assert raised.value.retry_after == 120
    assert upstream.stats()["requests"] == 1


async def test_temporarily_empty_first_page_still_leads_to_the_complete_menu(
    upstream: LocalUpstream, client: UpstreamClient
) -> None:
    store = await first_store_id(client)
    whole = await client.menu(store)
    upstream.set_failures(FaultDial(failure_rate=0.4, weights={FaultKind.EMPTY_PAGE: 1.0}))

    menu = await client.menu(store)

    assert len(menu.products) == len(whole.products)


async def test_hash_rotation_within_a_menu_is_not_a_failure(upstream: LocalUpstream, client_for: ClientFor) -> None:
    client = client_for(upstream.url, ONLY_ONCE)
    store = await first_store_id(client)
    upstream.set_failures(always(FaultKind.ROTATED))

    menu = await client.menu(store)

    assert menu.is_complete
    assert upstream.stats()["faults"]["rotated"] == menu.page_count


async def test_cut_menu_is_rejected_if_the_upstream_counts_more(serve: Serve, client_for: ClientFor) -> None:
    info = {"totalCount": 100, "totalPages": 1}
    known = {"_id": "a", "Name": "x", "Options": ["1g"], "Prices": [1], "Status": "Active", "type": "Flower"}

    async def respond(_: Request) -> Response:
        return JSONResponse({"data": {"filteredProducts": {"products": [known], "queryInfo": info}}})

    with pytest.raises(Truncated, match="the upstream served 1 products but counts 100"):
        await client_for(await serve(respond), ONLY_ONCE).menu("a" * 24)


async def test_cut_menu_with_a_matching_count_is_completed_by_the_other_mode(
    upstream: LocalUpstream, client: UpstreamClient
) -> None:
    store = await first_store_id(client)
    whole = len((await client.menu(store)).products)
    upstream.set_failures(FaultDial(failure_rate=0.5, weights={FaultKind.TRUNCATED: 1.0}))

    menus = [await client.menu(store) for _ in range(12)]

    partly_cut = [menu for menu in menus if len(menu.walks[Kind("rec", MenuMode.FULL)].products) < len(menu.products)]
    assert partly_cut
    assert not any(menu.is_complete for menu in partly_cut)
    assert any(menu.is_complete and len(menu.products) == whole for menu in menus)


async def test_all_menus_arrive_although_three_of_ten_requests_fail(
    upstream: LocalUpstream, client: UpstreamClient
) -> None:
    stores = await client.stores()
    upstream.set_failures(FaultDial(failure_rate=0.3, slow_seconds=0.01, retry_after_seconds=0))

    sizes = [len(await persistent_menu(client, store.id)) for store in stores]

    assert min(sizes) >= 15
    assert sum(upstream.stats()["faults"].values()) > 10


async def persistent_menu(client: UpstreamClient, store: str) -> list[dict[str, object]]:
    for _ in range(5):
        try:
            menu = await client.menu(store)
        except UpstreamFailure:
            continue
        if menu.is_complete and menu.products:
            return list(menu.products)
    raise AssertionError(f"no menu of {store} in five tries")
