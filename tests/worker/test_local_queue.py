"""The queue between producer and slots."""

from __future__ import annotations

import asyncio

from rolecall.worker.in_flight import HeldTask
from rolecall.worker.local_queue import LocalQueue


async def test_cancelled_slot_does_not_keep_others_from_being_released() -> None:
    board = LocalQueue(list[HeldTask]().extend)
    slots = [asyncio.create_task(board.wait_for_work()) for _ in range(2)]
    while board.free_slots < len(slots):
        await asyncio.sleep(0)

    slots[0].cancel()
    board.close()

    ends = await asyncio.gather(*slots, return_exceptions=True)
    assert [type(end) for end in ends] == [asyncio.CancelledError, type(None)]
