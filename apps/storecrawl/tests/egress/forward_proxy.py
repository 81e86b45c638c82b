"""A forward proxy on loopback, HTTP or HTTPS (absolute form and CONNECT) or SOCKS5, which can reject requests."""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import ssl
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

FORBIDDEN = b"HTTP/1.1 403 Forbidden\r\nContent-Type: text/html\r\nContent-Length: 22\r\nConnection: close\r\n\r\n<h1>Access denied</h1>"
UNKNOWN_USER = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
SOCKS, NO_AUTH, BY_PASSWORD, NONE_FITS = 5, 0, 2, 255
IPV4, NAME = 1, 3

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(slots=True, kw_only=True)
class ForwardProxy:
    """Forwards one request per connection; `heads` are the heads of the received requests."""

    protocol: str = "http"
    credentials: tuple[str, str] | None = None
    forbids: bool = False
    tls: ssl.SSLContext | None = None
    heads: list[str] = field(default_factory=list)
    port: int = 0
    server: asyncio.Server | None = None
    serving: set[asyncio.Task[None]] = field(default_factory=set)

    async def __aenter__(self) -> Self:
        self.server = await asyncio.start_server(self._begin, "127.0.0.1", 0, ssl=self.tls)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.server is not None:
            self.server.close()
        for task in self.serving:
            task.cancel()
        await asyncio.gather(*self.serving, return_exceptions=True)

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self.serving.add(task)
        task.add_done_callback(self.serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                await (self._serve_socks if self.protocol == "socks5" else self._serve_http)(reader, writer)
        finally:
            await _close(writer)

    async def _serve_http(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        self.heads.append(head)
        if not self._knows(head):
            writer.write(UNKNOWN_USER)
        elif self.forbids:
            writer.write(FORBIDDEN)
        elif head.startswith("CONNECT "):
            host, port = head.split(" ")[1].rsplit(":", 1)
            upstream = await asyncio.open_connection(host, int(port))
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await join((reader, writer), upstream)
        else:
            await self._forward(head, (reader, writer))

    def _knows(self, head: str) -> bool:
        if self.credentials is None:
            return True
        word = base64.b64encode(":".join(self.credentials).encode()).decode()
        return f"proxy-authorization: basic {word}".lower() in head.lower()

    async def _forward(self, head: str, client: Streams) -> None:
        first, *lines = head.rstrip("\r\n").split("\r\n")
        method, address, version = first.split(" ")
        target = urlsplit(address)
        path = address.split(target.netloc, 1)[1] or "/"
        kept_lines = [line for line in lines if not line.lower().startswith(("proxy-", "connection:"))]
        upstream = await asyncio.open_connection(target.hostname, target.port or 80)
        upstream[1].write(
            "\r\n".join([f"{method} {path} {version}", *kept_lines, "Connection: close", "", ""]).encode("latin-1")
        )
        await join(client, upstream)

    async def _serve_socks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, number = await reader.readexactly(2)
        offered = await reader.readexactly(number)
        wanted = BY_PASSWORD if self.credentials else NO_AUTH
        writer.write(bytes([SOCKS, wanted if wanted in offered else NONE_FITS]))
        if wanted not in offered or (self.credentials and not await self._greet(reader, writer)):
            return
        host, port = await _socks_target(reader)
        writer.write(bytes([SOCKS, 0, 0, IPV4, 0, 0, 0, 0, 0, 0]))
        if self.forbids:
            self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode("latin-1"))
            writer.write(FORBIDDEN)
            return
        await join((reader, writer), await asyncio.open_connection(host, port))

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        await reader.readexactly(1)
        user = await reader.readexactly((await reader.readexactly(1))[0])
        password = await reader.readexactly((await reader.readexactly(1))[0])
        known = (user.decode(), password.decode()) == self.credentials
        self.heads.append(user.decode())
        writer.write(bytes([1, 0 if known else 1]))
        return known


async def _socks_target(reader: asyncio.StreamReader) -> tuple[str, int]:
    *_, kind = await reader.readexactly(4)
    if kind == NAME:
        host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
    else:
        host = str(ipaddress.ip_address(await reader.readexactly(4 if kind == IPV4 else 16)))
    return host, int.from_bytes(await reader.readexactly(2), "big")


async def join(client: Streams, upstream: Streams) -> None:
    """Forward data in both directions until the upstream has sent everything."""
    up = asyncio.create_task(_pump(client[0], upstream[1]))
    try:
        await _pump(upstream[0], client[1])
    finally:
        up.cancel()
        await _close(upstream[1])


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while chunk := await source.read(65_536):
        target.write(chunk)
        await target.drain()
