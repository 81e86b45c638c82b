"""Rate limits per caller.

One request more than the limit may pass if a minute ends meanwhile: the sliding window is estimated.
"""

from __future__ import annotations

import asyncio

import pytest

from rolecall.config import AccessSettings
from rolecall.model.audit import Actor
from rolecall.model.errors import TooManyRequests
from rolecall.model.operator.access import ApiKey, Caller, Scope
from rolecall.service.access import Keys
from rolecall.web.http.rates import Rates
from tests.web.doors import opened

WRONG = {"authorization": "Bearer rk_" + "x" * 43}


def caller(name: str) -> Caller:
    return Caller(actor=Actor(name=name, via="api"), scope=Scope.READ)


async def count_requests(rates: Rates, number: int) -> None:
    for _ in range(number):
        await rates.count_request(caller("ada"))


async def test_each_caller_has_its_own_rate_limit(database: str) -> None:
    async with opened(database, requests_per_minute=3) as door:
        fast, other = await door.key(Scope.READ), await door.key(Scope.OPERATE)
        answers = [await door.client.get("/api/me", headers=fast) for _ in range(5)]
        calm = await door.client.get("/api/me", headers=other)

    assert [answer.status_code for answer in (*answers[:3], answers[-1])] == [200, 200, 200, 429]
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 60
    assert answers[-1].json()["type"] == "urn:rolecall:too-many-requests"
    assert calm.status_code == 200


async def test_caller_can_also_have_an_hourly_rate_limit() -> None:
    rates = Rates(AccessSettings(requests_per_hour=3))

    with pytest.raises(TooManyRequests, match="more than 3 in an hour") as refused:
        await count_requests(rates, 5)

    assert 1 <= refused.value.retry_after <= 3600


async def test_wrong_keys_exhaust_an_address_but_valid_keys_still_work(database: str) -> None:
    async with opened(database, logins_per_minute=2) as door:
        right = await door.key(Scope.READ)
        answers = [(await door.client.get("/api/me", headers=WRONG)).status_code for _ in range(4)]
        known = await door.client.get("/api/me", headers=right)

    assert [*answers[:2], answers[-1]] == [401, 401, 429]
    assert known.status_code == 200


async def test_address_is_exhausted_after_its_allowed_attempts() -> None:
    rates = Rates(AccessSettings(logins_per_minute=2))
    before = await rates.is_exhausted("192.0.2.1")
    await rates.count_attempt("192.0.2.1")
    await rates.count_attempt("192.0.2.1")

    assert not before
    assert await rates.is_exhausted("192.0.2.1")
    assert not await rates.is_exhausted("192.0.2.2")


async def test_guesses_from_an_exhausted_address_are_checked_one_at_a_time(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    under_way: list[int] = []
    most = 0
    find = Keys.find

    async def counting(self: Keys, secret: str) -> ApiKey | None:
        nonlocal most
        under_way.append(1)
        most = max(most, len(under_way))
        try:
            return await find(self, secret)
        finally:
            under_way.pop()

    async def is_exhausted(_rates: Rates, _address: str | None) -> bool:
        return True

    monkeypatch.setattr(Rates, "is_exhausted", is_exhausted)
    monkeypatch.setattr(Keys, "find", counting)
    async with opened(database) as door:
        right = await door.key(Scope.READ)
        guesses = [door.client.get("/api/me", headers=WRONG) for _ in range(30)]
        answers = await asyncio.gather(*guesses, door.client.get("/api/me", headers=right))

    assert {answer.status_code for answer in answers[:-1]} <= {401, 429}
    assert (answers[-1].status_code, most) == (200, 1)


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        ("192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        (None, None, True),
    ],
)
async def test_addresses_of_one_subscriber_share_a_rate_limit(
    first: str | None, second: str | None, shared: bool
) -> None:
    rates = Rates(AccessSettings(logins_per_minute=4))
    for _ in range(4):
        await rates.count_attempt(first)

    try:
        await rates.count_attempt(second)
        await rates.count_attempt(second)
    except TooManyRequests:
        assert shared
    else:
        assert not shared


async def test_rate_limit_uses_a_sliding_window() -> None:
    rates = Rates(AccessSettings(requests_per_minute=2))
    await count_requests(rates, 2)

    with pytest.raises(TooManyRequests) as refused:
        await count_requests(rates, 2)

    assert 1 <= refused.value.retry_after <= 60
