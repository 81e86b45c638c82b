"""The interface between cases and the transport under test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from time import monotonic

from rolecall.db.connect import connect_async
from rolecall.db.run import run_async
from rolecall.sql.statement import Statement
from rolecall.transport.listener import PostgresTransport
from rolecall.transport.relay import Relay
from rolecall.transport.transport import Message, Reach, Transport

PATIENCE = 15.0
LOOK_SECONDS = 0.01


class NotHere(Exception):
    """The case cannot be tested on this ground."""


class Outcome(StrEnum):
    """The outcome of a case."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Result:
    """A case, its outcome, and why it failed or was skipped."""

    case: str
    outcome: Outcome
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The environment in which a transport is tested.

    Each call of `transport` creates one, as each process has its own. `cut` stops its server and returns once it is
    unreachable, `restore` restarts it; both are None without a server. `dsn` is an empty migrated database for this
    case.
    """

    dsn: str
    transport: Callable[[], Transport]
    cut: Callable[[], Awaitable[None]] | None = None
    restore: Callable[[], Awaitable[None]] | None = None

    async def take_away(self) -> None:
        """Stop the server. Raises NotHere without one."""
        if self.cut is None or self.restore is None:
            raise NotHere("the transport has no server")
        await self.cut()

    async def bring_back(self) -> None:
        if self.restore is not None:
            await self.restore()

    def delivering_transport(self) -> Transport:
        """Create a transport that can deliver notifications. Raises NotHere if this one cannot."""
        transport = self.transport()
        if transport.reach is Reach.NOTHING:
            raise NotHere("the transport delivers nothing")
        return transport


Case = Callable[[Ground], Awaitable[None]]


def require(fact: object, problem: str) -> None:
    """Raise AssertionError with the problem unless `fact` is true."""
    if not fact:
        raise AssertionError(problem)


async def until(fact: Callable[[], object], problem: str, within: float | None = None) -> None:
    """Wait until `fact()` is true. Raises AssertionError after `within` seconds."""
    within = PATIENCE if within is None else within
    deadline = monotonic() + within
    while not fact():
        require(monotonic() < deadline, f"{problem}, within {within:g} s")
        await asyncio.sleep(LOOK_SECONDS)


async def next_of(messages: AsyncIterator[Message]) -> Message:
    """Return the next notification."""
    try:
        async with asyncio.timeout(PATIENCE):
            return await anext(messages)
    except (TimeoutError, StopAsyncIteration):
        raise AssertionError(f"nothing was received within {PATIENCE:g} s") from None


@asynccontextmanager
async def collect_payloads(transport: Transport, channel: str) -> AsyncIterator[asyncio.Queue[str]]:
    """Collect the payloads of a channel."""
    payloads: asyncio.Queue[str] = asyncio.Queue()

    async def gather(messages: AsyncIterator[Message]) -> None:
        async for _, payload in messages:
            payloads.put_nowait(payload)

    async with transport.subscribe([channel]) as messages:
        gathering = asyncio.create_task(gather(messages))
        try:
            yield payloads
        finally:
            gathering.cancel()
            await asyncio.wait({gathering})


@asynccontextmanager
async def run_relay(ground: Ground) -> AsyncIterator[None]:
    """Run a relay from Postgres to the transport, if it needs one."""
    target = ground.delivering_transport()
    if target.reach is not Reach.RELAYED:
        yield
        return
    relay = Relay(postgres(ground.dsn), target)
    running = asyncio.create_task(relay.run())
    try:
        yield
    finally:
        running.cancel()
        await asyncio.wait({running})


def postgres(dsn: str) -> PostgresTransport:
    """Return a transport that uses Postgres notifications."""

    async def send(statement: Statement[None]) -> None:
        async with await connect_async(dsn, "speaker") as speaker:
            await run_async(speaker, statement)

    return PostgresTransport(lambda: connect_async(dsn, "ear"), send)
