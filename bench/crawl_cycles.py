"""Runs crawl cycles and measures each part: discovery, then fetching and refreshing, then deriving."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import psycopg
from storecrawl.app import build_app

from bench.crawl_readings import (
    Handler,
    Reading,
    Statement,
    forget_statements,
    read_handlers,
    read_statements,
    read_tables,
    take_reading,
)
from bench.crawl_world import CrawlSizes, World
from bench.processes import memory_of_session
from rolecall import Client

LOOK_SECONDS = 1.0
TELL_SECONDS = 10.0
FIRST_CRAWL = "product_discovery"
CRAWLING = (FIRST_CRAWL, "payload_fetch", "product_refresh", "entry_point_discovery")
OPEN = """
select coalesce(sum(number), 0) from rolecall.counts()
where role = any(%s) and state not in ('completed', 'failed', 'cancelled')
"""
FETCHED = "select count(*) from storecrawl.payloads where created_at > %s"
REFRESHED = "select count(*) from storecrawl.payloads where applied_at > %s"
NOW = "select clock_timestamp()"


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """The memory of each worker, in bytes, after a number of stores had been fetched and refreshed in this part."""

    fetched: int
    stores: int
    workers: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A measured part of a cycle; `stores` is how many were refreshed in it."""

    name: str
    stores: int
    begin: Reading
    end: Reading
    statements: list[Statement]
    handlers: list[Handler]
    memory: list[Memory]

    @property
    def seconds(self) -> float:
        """The wall time."""
        return self.end.at - self.begin.at

    @property
    def wal(self) -> int:
        """Bytes of write-ahead log."""
        return self.end.wal - self.begin.wal

    @property
    def products(self) -> int:
        """Products in the refreshed menus."""
        return self.end.products - self.begin.products

    def cpu(self, kind: str) -> float:
        """Return the CPU seconds of one kind of process."""
        return self.end.cpu[kind] - self.begin.cpu[kind]


class Cycles:
    """The cycles of one world, one part after the other."""

    def __init__(self, world: World, sizes: CrawlSizes, connection: psycopg.Connection[Any]) -> None:
        self._world = world
        self._sizes = sizes
        self._connection = connection
        self._app = build_app(world.settings)
        self._is_interrupted = False

    def run(self) -> Iterator[Part]:
        """Discover every store, then repeatedly crawl all of them and derive the statistics.

        An interrupt ends the current part and the run.
        """
        for name, start, roles in self._plan():
            yield self._part(name, start, roles)
            if self._is_interrupted:
                return

    def _plan(self) -> Iterator[tuple[str, Callable[[], None], tuple[str, ...]]]:
        yield "discovery", self._discover, ("store_discovery",)
        for cycle in range(1, self._sizes.cycles + 1):
            yield f"cycle {cycle}", self._crawl_new if cycle == 1 else self._crawl_again, CRAWLING
            yield f"derive {cycle}", self._derive, ("analytics_refresh",)

    def _discover(self) -> None:
        self._enqueue("analytics_refresh")  # the first enqueue declares the app
        self._ask("select rolecall.pause_role(%s)", FIRST_CRAWL)
        self._enqueue("store_discovery")

    def _crawl_new(self) -> None:
        self._ask("select rolecall.resume_role(%s)", FIRST_CRAWL)

    def _crawl_again(self) -> None:
        self._world.next_step()
        self._enqueue("payload_fetch_all")

    def _derive(self) -> None:
        self._enqueue("analytics_refresh")

    def _part(self, name: str, start: Callable[[], None], roles: tuple[str, ...]) -> Part:
        forget_statements(self._connection)
        since, begin = self._ask(NOW), take_reading(self._world)
        start()
        memory: list[Memory] = []
        try:
            memory.extend(self._watched(name, since, roles))
        except KeyboardInterrupt:
            self._is_interrupted = True
        end, statements = take_reading(self._world), read_statements(self._connection)
        # Servers update their table statistics only after they have been idle for ten seconds.
        time.sleep(self._sizes.settling)
        return Part(
            name=name,
            stores=int(self._ask(REFRESHED, since)),
            begin=begin,
            end=replace(end, tables=read_tables(self._connection)),
            statements=statements,
            handlers=read_handlers(self._connection, since),
            memory=memory,
        )

    def _watched(self, name: str, since: object, roles: tuple[str, ...]) -> Iterator[Memory]:
        began = told_at = time.monotonic()
        while True:
            left, fetched, stores = (
                int(self._ask(OPEN, list(roles))),
                self._ask(FETCHED, since),
                self._ask(REFRESHED, since),
            )
            memory = Memory(
                fetched=int(fetched), stores=int(stores), workers=tuple(map(memory_of_session, self._world.workers))
            )
            yield memory
            if time.monotonic() - told_at > TELL_SECONDS or not left:
                told_at = time.monotonic()
                _tell(name, told_at - began, left, memory)
            if not left:
                return
            time.sleep(LOOK_SECONDS)

    def _enqueue(self, handler: str) -> None:
        with Client(self._world.server.dsn, app=self._app) as client:
            client.enqueue(handler)

    def _ask(self, query: str, *parameters: object) -> Any:
        row = self._connection.execute(query.encode(), parameters).fetchone()
        if row is None:
            raise LookupError("select returned no row")
        return row[0]


def _tell(name: str, seconds: float, left: int, memory: Memory) -> None:
    held = " + ".join(f"{each / 1e6:.0f}" for each in memory.workers)
    figures = f"{memory.fetched} stores fetched, {memory.stores} refreshed, {left} tasks open, workers hold {held} MB"
    print(f"{time.strftime('%T')} {name:<10} {seconds:6.0f} s  {figures}", file=sys.stderr, flush=True)
