"""A TLS proxy in front of a plain HTTP server on loopback, with a certificate of the test."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

import trustme

from .forward_proxy import Streams, join


def speaking_as(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(*names).configure_cert(context)
    return context


@asynccontextmanager
async def tls_door(url: str, tls: ssl.SSLContext) -> AsyncIterator[str]:
    behind, tasks = urlsplit(url), set[asyncio.Task[None]]()

    async def lead_through(client: Streams) -> None:
        with suppress(OSError):
            await join(client, await asyncio.open_connection(behind.hostname, behind.port))
        client[1].close()

    def let_in(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(lead_through((reader, writer)))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(let_in, "127.0.0.1", 0, ssl=tls)
    try:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
