"""A real server on loopback, and a client that reads its events."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from fastapi import FastAPI

from rolecall.config import AccessSettings
from rolecall.web.http.protocol import Bounds
from rolecall.web.server import Server

LONG = 30.0


@dataclass(frozen=True, slots=True)
class Event:
    """One event as it was sent."""

    name: str
    data: Any
    id: str | None


class Events:
    """Reads a stream, event by event."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self._lines = response.aiter_lines()

    async def next(self) -> Event:
        """Read the next event. Raises StopAsyncIteration at the end of the stream."""
        fields: dict[str, str] = {}
        while True:
            line = await anext(self._lines)
            name, _, value = line.partition(": ")
            if name:
                fields[name] = value
            elif line == "" and "event" in fields:
                return Event(fields["event"], json.loads(fields["data"]), fields.get("id"))
            else:
                fields = {}

    async def until(self, is_it: Callable[[Event], bool]) -> Event:
        """Read events up to the first that fulfills the condition."""
        async with asyncio.timeout(LONG):
            while True:
                event = await self.next()
                if is_it(event):
                    return event

    async def all_of(self, *names: str) -> dict[str, Event]:
        """Read events until each name has occurred; return the first event of each."""
        found: dict[str, Event] = {}
        while len(found) < len(names):
            event = await self.until(lambda event: event.name in names)
            found.setdefault(event.name, event)
        return found

    async def change_of(self, task_id: int, state: str) -> Event:
        """Read events until a task is reported in a state."""
        wanted = ("task_changed", task_id, state)
        return await self.until(lambda event: (event.name, event.data.get("id"), event.data.get("state")) == wanted)


@dataclass(slots=True)
class Site:
    """A server on loopback."""

    server: Server
    client: httpx2.AsyncClient
    running: asyncio.Task[None]

    @asynccontextmanager
    async def events(self, path: str = "/api/live", **headers: str) -> AsyncIterator[Events]:
        """Open a stream."""
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        async with self.client.stream("GET", path, headers=names, timeout=LONG) as response:
            yield Events(response)

    async def stop(self) -> None:
        """Stop the server as a signal does."""
        self.server.should_exit = True
        async with asyncio.timeout(LONG):
            await self.running


@asynccontextmanager
async def served(application: FastAPI, bounds: Bounds | None = None) -> AsyncIterator[Site]:
    """Serve an application during the block."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = Server(application, AccessSettings(forwarded_by=""), bounds)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    async with httpx2.AsyncClient(base_url=address, timeout=LONG) as client:
        site = Site(server, client, running)
        try:
            yield site
        finally:
            await site.stop()
