"""The loop that looks for changes and passes them to the streams, and the listener that hastens it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic
from typing import Any

from psycopg import AsyncConnection

from rolecall.model.errors import RolecallError
from rolecall.model.live import ReloadReason, RoleProgress
from rolecall.service.database import Database
from rolecall.service.live.looks import Found, RoleLook, Start, TaskLook, TreeLook
from rolecall.service.live.stream import Stream
from rolecall.service.progress import Progress
from rolecall.wake.listener import Listener, PostgresTransport
from rolecall.wake.transport import CANCEL_CHANNEL, WAKE_CHANNEL
from rolecall.wake.waker import Backoff, Waker

__all__ = [
    "Connect",
    "Looker",
]

FIRST_RETRY = 0.25
LONGEST_RETRY = 5.0
CANCEL_AGAIN = 0.5
Connect = Callable[[], Awaitable[AsyncConnection[tuple[Any, ...]]]]
log = logging.getLogger("rolecall.live")


class Looker:
    """Looks until it is stopped. Errors of the database only delay it."""

    def __init__(self, database: Database, tasks: TaskLook, streams: Sequence[Stream]) -> None:
        self._database = database
        self._progress = Progress(database)
        self._tasks = tasks
        self._roles = RoleLook(self._progress)
        self._trees = TreeLook(self._progress)
        self._streams = streams
        self._waker = Waker()
        self._backoff = Backoff(FIRST_RETRY, LONGEST_RETRY)
        self._away = False
        self._seen = monotonic()
        self._working: set[asyncio.Task[None]] = set()

    @classmethod
    async def start(
        cls, database: Database, connect: Connect | None, closing: asyncio.Event, streams: Sequence[Stream]
    ) -> Looker:
        """Start with the current state, and look from now on. Without `connect`, no notifications hasten it."""
        looker = cls(database, await TaskLook.begin(database), streams)
        await looker._look_at_roles(stirred=True)
        looker._working = {
            asyncio.create_task(looker._look_for_ever(), name="rolecall-live"),
            asyncio.create_task(looker._end_when(closing), name="rolecall-live-closing"),
        }
        if connect is not None:
            listening = looker._listener(connect).run()
            looker._working.add(asyncio.create_task(listening, name="rolecall-live-listener"))
        return looker

    async def stop(self) -> None:
        pending, self._working = self._working, set()
        while pending:
            for task in pending:
                task.cancel()
            # Repeat: before Python 3.12, a cancellation that coincides with the result of a `wait_for` is lost.
            _, pending = await asyncio.wait(pending, timeout=CANCEL_AGAIN)

    async def welcome(self, stream: Stream, after: str | None) -> None:
        """Send a new stream the progress of its trees, and the changes since the event with this id."""
        for root in sorted(stream.wanted.roots):
            tree = await self._progress.tree(root)
            self._trees.know(tree)
            stream.tell_tree(tree)
        if after is not None:
            await self._catch_up(stream, Start.read(after))
        stream.mark(self._tasks.event_id)
        if self._away:
            stream.tell_stale(monotonic() - self._seen)

    async def _catch_up(self, stream: Stream, start: Start | None) -> None:
        missed = await self._tasks.since(start) if start else None
        if missed is None:
            stream.tell_reload(ReloadReason.AWAY)
        else:
            stream.tell_tasks(missed)

    def _listener(self, connect: Connect) -> Listener:
        return Listener(
            PostgresTransport(connect, self._database.run),
            hears=dict.fromkeys((WAKE_CHANNEL, CANCEL_CHANNEL), lambda _payload: self._waker.nudge()),
            on_return=self._waker.nudge,
        )

    async def _end_when(self, closing: asyncio.Event) -> None:
        await closing.wait()
        for stream in self._streams:
            stream.end()

    async def _look_for_ever(self) -> None:
        while True:
            try:
                found = await self._look()
            except Exception as error:  # noqa: BLE001 - the loop must survive every error
                await self._pause_for(error)
            else:
                self._is_back()
                await asyncio.sleep(found.floor)
                await self._waker.wait(found.pause - found.floor)

    async def _look(self) -> Found:
        self._waker.forget()
        began = monotonic()
        found = await self._tasks.look()
        for stream in self._streams:
            if found.reload:
                stream.tell_reload(found.reload)
            stream.tell_tasks(found.tasks)
            stream.mark(self._tasks.event_id)
        await self._summaries(stirred=found.stirred)
        self._seen = began
        return found

    async def _summaries(self, *, stirred: bool) -> None:
        moved = await self._look_at_roles(stirred=stirred)
        roots = sorted({root for stream in self._streams for root in stream.wanted.roots})
        trees = await self._trees.look(roots, stirred=stirred)
        for stream in self._streams:
            stream.tell_roles(moved)
            for tree in trees:
                stream.tell_tree(tree)

    async def _look_at_roles(self, *, stirred: bool) -> Sequence[RoleProgress]:
        if not any(stream.wanted.counts for stream in self._streams):
            return ()
        return await self._roles.look(stirred=stirred)

    async def _pause_for(self, error: Exception) -> None:
        # Expected errors explain themselves; any other one is a bug and needs its traceback.
        unexpected = None if isinstance(error, RolecallError) else error
        level = logging.DEBUG if self._away else logging.WARNING
        log.log(level, "Live updates are interrupted: %s", error, exc_info=unexpected)
        if not self._away:
            for stream in self._streams:
                stream.tell_stale(monotonic() - self._seen)
        self._away = True
        await asyncio.sleep(self._backoff.next())

    def _is_back(self) -> None:
        if self._away:
            log.info("Live updates are back")
            for stream in self._streams:
                stream.tell_fresh()
        self._away = False
        self._backoff.reset()
