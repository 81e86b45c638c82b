"""When a failed request is retried, and after which delay."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from storecrawl.platforms.dutchie import ClientOptions
from storecrawl.platforms.errors import RateLimited, TooLarge, Unavailable
from storecrawl.platforms.retry import RetryRule

from .conftest import QUICK, ClientFor, Serve

EXACT = RetryRule(ClientOptions(jitter=0.0), Random(1))


def test_waits_double_with_each_retry() -> None:
    waits = [EXACT.wait_after(Unavailable("gone"), failures) for failures in range(3)]

    assert waits == [2.0, 4.0, 8.0]


def test_waits_are_twice_as_long_after_a_rate_limit() -> None:
    assert EXACT.wait_after(RateLimited(None), 1) == 8.0


def test_failure_is_raised_after_three_retries() -> None:
    assert EXACT.wait_after(Unavailable("gone"), 3) is None


def test_permanent_failure_is_not_retried() -> None:
    assert EXACT.wait_after(TooLarge("5"), 0) is None


def test_upstream_can_request_a_longer_wait() -> None:
    assert EXACT.wait_after(RateLimited(30.0), 0) == 30.0


def test_wait_over_the_maximum_is_left_to_the_caller() -> None:
    assert EXACT.wait_after(RateLimited(61.0), 0) is None


def test_jitter_varies_a_wait_by_its_share() -> None:
    rule = RetryRule(ClientOptions(jitter=0.25), Random(1))

    waits = {rule.pause(0) for _ in range(200)}

    assert len(waits) > 100
    assert 1.5 <= min(waits) < 1.6
    assert 2.4 < max(waits) <= 2.5


async def test_concurrent_requests_do_not_exceed_the_limit(serve: Serve, client_for: ClientFor) -> None:
    running: list[int] = []
    peaks: list[int] = []

    async def respond(_: Request) -> Response:
        running.append(1)
        peaks.append(len(running))
        await asyncio.sleep(0.02)
        running.pop()
        return JSONResponse({"data": {"filteredDispensaries": []}})

    client = client_for(await serve(respond), replace(QUICK, concurrency=3))
    await asyncio.gather(*(client.stores() for _ in range(12)))

    assert max(peaks) == 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"timeout": 0.0},
        {"backoff": -1.0},
        {"retries": -1},
        {"page_cap": 0},
        {"concurrency": 0},
        {"max_body_bytes": 0},
        {"page_size": 101},
        {"modes": ()},
    ],
)
def test_invalid_settings_are_rejected(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong)) if wrong.keys() != {"backoff"} else "time"):
        ClientOptions(**wrong)
