"""Each kind of failure has its documented outcome: another attempt, another route, or a specific error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
from storecrawl.demo.upstream import FaultDial, FaultKind, LocalUpstream
from storecrawl.platforms.errors import (
    Blocked,
    ForeignRedirect,
    RateLimited,
    SchemaDrift,
    Unavailable,
    UnknownStore,
    UpstreamError,
    UpstreamFailure,
)

from .conftest import QUICK, Book

TRIES = 3
PATIENT = replace(QUICK, retries=TRIES - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a permanent fault, and how many of two routes were tried."""

    error: type[UpstreamFailure]
    routes: int


CATALOGUE = {
    FaultKind.BLOCKED: Outcome(error=Blocked, routes=2),
    FaultKind.FOREIGN_REDIRECT: Outcome(error=ForeignRedirect, routes=2),
    FaultKind.RATE_LIMITED: Outcome(error=RateLimited, routes=1),
    FaultKind.UNAVAILABLE: Outcome(error=Unavailable, routes=1),
    FaultKind.CUT: Outcome(error=Unavailable, routes=1),
    FaultKind.ERRORS: Outcome(error=UpstreamError, routes=1),
    FaultKind.SCHEMA_DRIFT: Outcome(error=SchemaDrift, routes=1),
}


@pytest.mark.parametrize("kind", CATALOGUE)
async def test_permanent_fault_is_retried_as_documented_and_raises_its_error(
    upstream: LocalUpstream, book: Book, proxy: Any, make_client: Any, kind: FaultKind
) -> None:
    one, other = await proxy(), await proxy()
    book.add(one), book.add(other)
    client = await make_client(upstream.url, PATIENT)
    upstream.set_failures(FaultDial(failure_rate=1.0, weights={kind: 1.0}, retry_after_seconds=0))

    with pytest.raises(UpstreamFailure) as raised:
        await client.stores()

    outcome = CATALOGUE[kind]
    assert type(raised.value) is outcome.error
    assert sum(bool(each.heads) for each in (one, other)) == outcome.routes
    assert len(one.heads) + len(other.heads) >= TRIES


@pytest.mark.parametrize("kind", CATALOGUE)
async def test_temporary_fault_still_leads_to_a_response(
    upstream: LocalUpstream, book: Book, make_client: Any, kind: FaultKind
) -> None:
    book.add()
    client = await make_client(upstream.url, replace(QUICK, retries=12))
    upstream.set_failures(FaultDial(failure_rate=0.5, weights={kind: 1.0}, retry_after_seconds=0))

    assert len(await client.stores()) == upstream.options.stores


async def test_unknown_store_does_not_count_against_the_route(
    upstream: LocalUpstream, book: Book, make_client: Any, eventually: Any
) -> None:
    route = book.add()

    with pytest.raises(UnknownStore) as raised:
        await (await make_client(upstream.url)).store("nowhere")

    assert not raised.value.retryable
    await eventually(lambda: book.route(route)["successes"] == 1)
    assert book.route(route)["failures"] == 0
