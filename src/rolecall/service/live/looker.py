"""The loop that looks for changes and passes them to the streams, and the listener that hastens it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic
from typing import Any

from psycopg import AsyncConnection

from rolecall.model.errors import RolecallError
from rolecall.model.operator.live import ReloadReason, RoleProgress
from rolecall.service.database import Database
from rolecall.service.live.looks import RoleQuery, Start, TaskQuery, TaskUpdate, TreeQuery
from rolecall.service.live.stream import Stream
from rolecall.service.progress import Progress
from rolecall.transport.listener import Listener, PostgresTransport
from rolecall.transport.transport import CANCEL_CHANNEL, WAKE_CHANNEL
from rolecall.transport.waker import Backoff, Waker

FIRST_RETRY = 0.25
LONGEST_RETRY = 5.0
CANCEL_AGAIN = 0.5
Connect = Callable[[], Awaitable[AsyncConnection[tuple[Any, ...]]]]
log = logging.getLogger("rolecall.live")


class ChangePoller:
    """Looks until it is stopped. Errors of the database only delay it."""

    def __init__(self, database: Database, tasks: TaskQuery, streams: Sequence[Stream]) -> None:
        self._database = database
        self._progress = Progress(database)
        self._tasks = tasks
        self._roles = RoleQuery(self._progress)
        self._trees = TreeQuery(self._progress)
        self._streams = streams
        self._waker = Waker()
        self._backoff = Backoff(FIRST_RETRY, LONGEST_RETRY)
        self._is_away = False
        self._last_query = monotonic()
        self._loops: set[asyncio.Task[None]] = set()

    @classmethod
    async def start(
        cls, database: Database, connect: Connect | None, closing: asyncio.Event, streams: Sequence[Stream]
    ) -> ChangePoller:
        """Start with the current state, and look from now on. Without `connect`, no notifications hasten it."""
        poller = cls(database, await TaskQuery.begin(database), streams)
        await poller._query_roles(has_changed=True)
        poller._loops = {
            asyncio.create_task(poller._poll_forever(), name="rolecall-live"),
            asyncio.create_task(poller._end_streams_after(closing), name="rolecall-live-closing"),
        }
        if connect is not None:
            listening = poller._listener(connect).run()
            poller._loops.add(asyncio.create_task(listening, name="rolecall-live-listener"))
        return poller

    async def stop(self) -> None:
        pending, self._loops = self._loops, set()
        while pending:
            for task in pending:
                task.cancel()
            # Repeat: before Python 3.12, a cancellation that coincides with the result of a `wait_for` is lost.
            _, pending = await asyncio.wait(pending, timeout=CANCEL_AGAIN)

    async def start_stream(self, stream: Stream, after: str | None) -> None:
        """Send a new stream the progress of its trees, and the changes since the event with this id."""
        for root in sorted(stream.subscription.roots):
            tree = await self._progress.tree(root)
            self._trees.note_sent(tree)
            stream.add_tree(tree)
        if after is not None:
            await self._catch_up(stream, Start.read(after))
        stream.mark(self._tasks.event_id)
        if self._is_away:
            stream.add_stale(monotonic() - self._last_query)

    async def _catch_up(self, stream: Stream, start: Start | None) -> None:
        missed = await self._tasks.since(start) if start else None
        if missed is None:
            stream.add_reload(ReloadReason.AWAY)
        else:
            stream.add_tasks(missed)

    def _listener(self, connect: Connect) -> Listener:
        return Listener(
            PostgresTransport(connect, self._database.run),
            handlers=dict.fromkeys((WAKE_CHANNEL, CANCEL_CHANNEL), lambda _payload: self._waker.nudge()),
            on_return=self._waker.nudge,
        )

    async def _end_streams_after(self, closing: asyncio.Event) -> None:
        await closing.wait()
        for stream in self._streams:
            stream.end()

    async def _poll_forever(self) -> None:
        while True:
            try:
                update = await self._query_changes()
            except Exception as error:  # noqa: BLE001 - the loop must survive every error
                await self._pause_for(error)
            else:
                self._note_recovery()
                await asyncio.sleep(update.floor)
                await self._waker.wait(update.pause - update.floor)

    async def _query_changes(self) -> TaskUpdate:
        self._waker.forget()
        started = monotonic()
        update = await self._tasks.query()
        for stream in self._streams:
            if update.reload:
                stream.add_reload(update.reload)
            stream.add_tasks(update.tasks)
            stream.mark(self._tasks.event_id)
        await self._send_summaries(has_changed=update.has_changed)
        self._last_query = started
        return update

    async def _send_summaries(self, *, has_changed: bool) -> None:
        changes = await self._query_roles(has_changed=has_changed)
        roots = sorted({root for stream in self._streams for root in stream.subscription.roots})
        trees = await self._trees.query(roots, has_changed=has_changed)
        for stream in self._streams:
            stream.add_roles(changes)
            for tree in trees:
                stream.add_tree(tree)

    async def _query_roles(self, *, has_changed: bool) -> Sequence[RoleProgress]:
        if not any(stream.subscription.counts for stream in self._streams):
            return ()
        return await self._roles.query(has_changed=has_changed)

    async def _pause_for(self, error: Exception) -> None:
        # Expected errors explain themselves; any other one is a bug and needs its traceback.
        unexpected = None if isinstance(error, RolecallError) else error
        level = logging.DEBUG if self._is_away else logging.WARNING
        log.log(level, "Live updates are interrupted: %s", error, exc_info=unexpected)
        if not self._is_away:
            for stream in self._streams:
                stream.add_stale(monotonic() - self._last_query)
        self._is_away = True
        await asyncio.sleep(self._backoff.next())

    def _note_recovery(self) -> None:
        if self._is_away:
            log.info("Live updates are back")
            for stream in self._streams:
                stream.add_fresh()
        self._is_away = False
        self._backoff.reset()
