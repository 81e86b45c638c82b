"""Tries whether notifications arrive: behind a transaction pooler LISTEN succeeds, and nothing ever comes."""

from __future__ import annotations

import secrets
from contextlib import aclosing

from rolecall.db.connect import AsyncConnection, connect_async
from rolecall.db.run import run_async, translated
from rolecall.wake.listener import PROBE_CHANNEL, send_probe

# A busy machine may take some seconds; only where nothing ever comes is it waited for so long.
ANSWER_WITHIN = 10.0


async def hears(dsn: str, within: float = ANSWER_WITHIN) -> bool:
    """Listen on one new connection, notify from another, and wait so many seconds for what must come.

    Nothing is prepared: a pooler could not bear it.
    """
    token = secrets.token_hex(8)
    with translated():
        async with (
            await connect_async(dsn, "doctor", prepare_threshold=None) as listener,
            await connect_async(dsn, "doctor", prepare_threshold=None) as speaker,
        ):
            await listener.execute(f"listen {PROBE_CHANNEL}".encode())
            await run_async(speaker, send_probe(token))
            heard = await _heard(listener, token, within)
            # A pooler may hand the server's connection to others: leave no LISTEN behind.
            await listener.execute(b"unlisten *")
            return heard


async def _heard(listener: AsyncConnection, token: str, within: float) -> bool:
    async with aclosing(listener.notifies(timeout=within)) as notifies:
        async for notify in notifies:
            if notify.payload == token:
                return True
    return False
