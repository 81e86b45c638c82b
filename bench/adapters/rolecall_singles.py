"""The ways to enqueue a single task, each call with its own commit: W1s, and variants for Rolecall only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from types import MappingProxyType
from typing import Any

import psycopg

from bench.processes import Stopwatch
from rolecall.app import App
from rolecall.client.async_client import AsyncClient
from rolecall.client.sync_client import Client
from rolecall.worker.loop import run

CALLERS = 16
LATER = timedelta(hours=1)
OPTIONS: Mapping[str, Callable[[int], dict[str, Any]]] = MappingProxyType(
    {
        "plain": lambda _: {},
        "key": lambda i: {"key": f"key {i}"},
        "dedupe": lambda i: {"dedupe_key": f"key {i}"},
        "scheduled": lambda _: {"after": LATER},
    }
)


class Singles:
    """Enqueues one task per call; clients connect and declare the app before the measurement."""

    def __init__(self, dsn: str, app: App, noop: Any) -> None:
        self._dsn = dsn
        self._app = app
        self._noop = noop

    def run(self, way: str, number: int, watch: Stopwatch) -> None:
        """Run one variant: one of `OPTIONS` with sequential calls, or transaction, concurrent or async."""
        if way == "async":
            run(self._asynchronously(number, watch))
            return
        with Client(self._dsn, app=self._app) as client:
            client.open()
            if way == "transaction":
                self._in_transactions(client, number, watch)
            elif way == "concurrent":
                self._by_many(client, number, watch)
            else:
                with watch:
                    self._calls(client, number, OPTIONS[way])

    def _calls(self, client: Client, number: int, options: Callable[[int], dict[str, Any]] = OPTIONS["plain"]) -> None:
        for i in range(number):
            client.enqueue(self._noop, {"i": i}, **options(i))

    def _in_transactions(self, client: Client, number: int, watch: Stopwatch) -> None:
        with psycopg.connect(self._dsn) as connection, watch:
            for i in range(number):
                client.enqueue(self._noop, {"i": i}, connection=connection)
                connection.commit()

    def _by_many(self, client: Client, number: int, watch: Stopwatch) -> None:
        with ThreadPoolExecutor(CALLERS) as threads, watch:
            for call in [threads.submit(self._calls, client, number // CALLERS) for _ in range(CALLERS)]:
                call.result()

    async def _asynchronously(self, number: int, watch: Stopwatch) -> None:
        async with AsyncClient(self._dsn, app=self._app) as client:
            await client.open()
            with watch:
                for i in range(number):
                    await client.enqueue(self._noop, {"i": i})
