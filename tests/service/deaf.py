"""A stand-in for a transaction pooler: it relays everything except notifications."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from psycopg.conninfo import conninfo_to_dict, make_conninfo

NOTIFICATION = b"A"


@asynccontextmanager
async def deaf(dsn: str) -> AsyncIterator[str]:
    """Run a proxy between a client and a server; yields its connection string."""
    target = conninfo_to_dict(dsn)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_connection(str(target["host"]), int(str(target["port"])))
        there = asyncio.create_task(_pass_all(reader, server_writer))
        try:
            await _pass_without_notifications(server_reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            there.cancel()
            writer.close()
            server_writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield make_conninfo(dsn, host="127.0.0.1", port=server.sockets[0].getsockname()[1])


async def _pass_all(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while some := await reader.read(65_536):
        writer.write(some)
        await writer.drain()
    writer.close()


async def _pass_without_notifications(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        head = await reader.readexactly(5)
        body = await reader.readexactly(int.from_bytes(head[1:], "big") - 4)
        if head[:1] != NOTIFICATION:
            writer.write(head + body)
            await writer.drain()
