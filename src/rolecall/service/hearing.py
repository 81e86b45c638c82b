"""Tries whether notifications arrive: behind a transaction pooler LISTEN succeeds, and nothing ever comes."""

from __future__ import annotations

from contextlib import aclosing

from rolecall.db.connect import AsyncConnection, connect_async
from rolecall.db.run import run_async, translated
from rolecall.wake.listener import probe_channel, send_probe

# A busy machine may take some seconds; only where nothing ever comes is it waited for so long.
ANSWER_WITHIN = 10.0


async def hears(dsn: str, listen_dsn: str | None = None, within: float = ANSWER_WITHIN) -> bool:
    """Listen on one new connection, notify from another, and wait so many seconds for what must come."""
    channel = probe_channel()
    with translated():
        async with (
            await connect_async(listen_dsn or dsn, "doctor") as listener,
            await connect_async(dsn, "doctor") as speaker,
        ):
            await listener.execute(f"listen {channel}".encode())
            await run_async(speaker, send_probe(channel))
            heard = await _heard(listener, channel, within)
            await listener.execute(f"unlisten {channel}".encode())
            return heard


async def _heard(listener: AsyncConnection, channel: str, within: float) -> bool:
    async with aclosing(listener.notifies(timeout=within)) as notifies:
        async for notify in notifies:
            if notify.channel == channel:
                return True
    return False
