"""Waits of many requests for tasks and chains, with one query for all of them at a time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from rolecall.model.errors import TooManyRequests
from rolecall.service.database import Database
from rolecall.sql import chains, tasks
from rolecall.sql.statement import Statement

MOST = 500
MOST_OF_ONE = 20
# The interval of queries, which grows after the latest waiter came.
SOONEST = 0.02
LATEST = 0.25
GROWTH = 1.5
RETRY_AFTER = 5.0
EndedAmong = Callable[[Sequence[int]], Statement[list[int]]]
KINDS: tuple[EndedAmong, ...] = (tasks.not_open_among, chains.not_open_among)


class WaitTarget(NamedTuple):
    """The task or chain that a request waits for."""

    ended_among: EndedAmong
    id: int


@dataclass(frozen=True, slots=True, eq=False)
class Waiter:
    """A waiting request."""

    target: WaitTarget
    ended: asyncio.Future[None]


class Waits:
    """Queries on one connection while anybody waits. An error of a query is raised to all waiters of it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiters: set[Waiter] = set()
        self._share = Share(MOST_OF_ONE, f"{MOST_OF_ONE} of your requests are already waiting", retry_after=RETRY_AFTER)
        self._query_task: asyncio.Task[None] | None = None
        self._pause = SOONEST

    async def for_task(self, task_id: int, seconds: float, caller: str | None) -> None:
        """Return when the task has finished, or when the seconds have passed.

        A caller can have twenty waits at once; None is not limited. Raises TooManyRequests, DatabaseUnavailable.
        """
        await self._wait(WaitTarget(tasks.not_open_among, task_id), seconds, caller)

    async def for_chain(self, chain_id: int, seconds: float, caller: str | None) -> None:
        """Return when the chain has finished, or when the seconds have passed. Otherwise the same as `for_task`."""
        await self._wait(WaitTarget(chains.not_open_among, chain_id), seconds, caller)

    async def close(self) -> None:
        if self._query_task is not None:
            self._query_task.cancel()
            await asyncio.wait({self._query_task})

    async def _wait(self, target: WaitTarget, seconds: float, caller: str | None) -> None:
        if len(self._waiters) >= MOST:
            raise TooManyRequests(f"{MOST} requests are already waiting", retry_after=RETRY_AFTER)
        with self._share.reserve(caller):
            waiter = Waiter(target, asyncio.get_running_loop().create_future())
            self._waiters.add(waiter)
            self._begin()
            try:
                async with asyncio.timeout(seconds):
                    await waiter.ended
            except TimeoutError:
                pass
            finally:
                self._waiters.discard(waiter)

    def _begin(self) -> None:
        self._pause = SOONEST
        if self._query_task is None or self._query_task.done():
            self._query_task = asyncio.create_task(self._query_repeatedly(), name="rolecall-waits")

    async def _query_repeatedly(self) -> None:
        while self._waiters:
            for kind in KINDS:
                await self._query([waiter for waiter in self._waiters if waiter.target.ended_among is kind], kind)
            await asyncio.sleep(self._pause)
            self._pause = min(LATEST, self._pause * GROWTH)

    async def _query(self, waiters: Sequence[Waiter], ended_among: EndedAmong) -> None:
        if not waiters:
            return
        try:
            statement = ended_among(sorted({waiter.target.id for waiter in waiters}))
            ended: list[int] = await self._database.run(statement)
        except Exception as error:  # noqa: BLE001 - every error is raised to the waiters
            for waiter in waiters:
                if not waiter.ended.done():
                    waiter.ended.set_exception(error)
        else:
            for waiter in waiters:
                if waiter.target.id in ended and not waiter.ended.done():
                    waiter.ended.set_result(None)


class Share:
    """Limits how many things each caller has at once; `problem` is the message beyond `most`."""

    def __init__(self, most: int, problem: str, *, retry_after: float) -> None:
        self._most = most
        self._problem = problem
        self._retry_after = retry_after
        self._counts: Counter[str] = Counter()

    @contextmanager
    def reserve(self, caller: str | None) -> Iterator[None]:
        """Take one while the block runs. None is not counted. Raises TooManyRequests."""
        if caller is None:
            yield
            return
        if self._counts[caller] >= self._most:
            raise TooManyRequests(self._problem, retry_after=self._retry_after)
        self._counts[caller] += 1
        try:
            yield
        finally:
            self._counts[caller] -= 1
            if not self._counts[caller]:
                del self._counts[caller]
