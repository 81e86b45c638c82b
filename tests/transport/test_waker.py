from __future__ import annotations

import asyncio

from rolecall.transport.waker import Waker


async def test_nudge_ends_the_wait() -> None:
    waker = Waker()
    asyncio.get_running_loop().call_soon(waker.nudge)

    assert await asyncio.wait_for(waker.wait(), 5)


async def test_nudge_before_the_wait_is_not_lost() -> None:
    waker = Waker()
    waker.nudge()

    assert await asyncio.wait_for(waker.wait(), 5)


async def test_many_nudges_end_only_one_wait() -> None:
    waker = Waker()
    waker.nudge()
    waker.nudge()

    assert await waker.wait(0.01)
    assert not await waker.wait(0.01)


async def test_discarded_nudge_does_not_end_the_wait() -> None:
    waker = Waker()
    waker.nudge()
    waker.forget()

    assert not await waker.wait(0.01)
