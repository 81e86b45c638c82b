"""The life cycle of a worker: create and start its parts, then stop them in the right order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping, Sequence
from time import time
from typing import Any

from rolecall.model.error_text import describe
from rolecall.model.errors import HandlerError, RolecallError
from rolecall.model.platforms import refuse_windows
from rolecall.model.workers import Workplace
from rolecall.telemetry import Event, EventType
from rolecall.transport.transport import Reach
from rolecall.worker.health import WorkerHealth
from rolecall.worker.idleness import IdleWatch
from rolecall.worker.options import WorkerOptions
from rolecall.worker.program import Program
from rolecall.worker.shutdown import Shutdown
from rolecall.worker.wiring import Wiring

log = logging.getLogger("rolecall.worker")


class Worker:
    """Runs an app's tasks until it is stopped. A worker object can run once.

        worker = Worker(app, "postgresql://...", WorkerOptions(roles=("mail",), slots=10))
        await worker.run()

    The database must be migrated: `run` raises SchemaMissing or SchemaTooNew otherwise. Raises ConfigError on
    Windows.
    """

    def __init__(self, app: Program, dsn: str, options: WorkerOptions | None = None) -> None:
        refuse_windows("a worker", "run it in WSL or in a container; clients can stay on Windows")
        self._app = app
        self._dsn = dsn
        self._options = options or WorkerOptions()
        self._started = asyncio.Event()
        self._stopping = asyncio.Event()
        self._now = asyncio.Event()
        self._failure: BaseException | None = None
        self._wirings: Sequence[Wiring] = ()
        self._working = False

    @property
    def working(self) -> bool:
        """True from the registration of the worker until it has returned its tasks."""
        return self._working

    def health(self) -> WorkerHealth:
        """Return the worker's health for probes. Can be called from any thread, also while the loop is blocked."""
        healths = [wiring.health(working=self._working) for wiring in self._wirings]
        worst = min(healths, key=lambda each: (each.alive, each.ready), default=WorkerHealth())
        if self.stopping and worst.alive:
            return WorkerHealth(unready="it is stopping")
        if worst.ready and not self._working:
            return WorkerHealth(unready="it has not started yet")
        return worst

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    def stop(self, *, now: bool = False) -> None:
        """Stop claiming and let running handlers finish within the grace period; with `now`, abort them."""
        self._stopping.set()
        if now:
            self._now.set()

    async def started(self) -> None:
        """Wait until the worker claims tasks. Never returns if the worker cannot start."""
        await self._started.wait()

    async def run(self, stop: asyncio.Event | None = None) -> None:
        """Work until `stop()` is called, the given event is set, or this coroutine is cancelled.

        Tasks that have not started are returned at once. Running tasks may finish within the grace period and are
        returned after it. Neither spends an attempt. Raises the error that stopped the worker, if any, and HandlerError
        for an app with an invalid declaration.
        """
        try:
            await self.run_silently(stop)
        except Exception as error:
            # If this runs as an asyncio task, its exception may not be read before the loop ends.
            if error is not self._failure:
                log.critical("The worker ends: %s", error, exc_info=not isinstance(error, RolecallError))
            raise

    async def run_silently(self, stop: asyncio.Event | None = None) -> None:
        """Work as `run` does, but leave it to the caller to log an error that stops the worker."""
        try:
            await self._run_to_its_end(stop)
        except Exception as error:
            invalid = isinstance(error, HandlerError)
            kinds = (EventType.JOB_TYPE_VALIDATION_ERROR, EventType.WORKER_ERROR)
            self._app.emitter.emit(
                [Event(type=kind, at=time(), error=describe(error)) for kind in (kinds if invalid else kinds[1:])]
            )
            raise
        finally:
            # The flush is bounded in time: a sink that hangs delays the exit only briefly.
            if self._app.emitter.has_sinks:
                await asyncio.to_thread(self._app.emitter.flush)

    async def _run_to_its_end(self, stop: asyncio.Event | None) -> None:
        self._app.check()
        follower = asyncio.create_task(self._follow(stop)) if stop is not None else None
        try:
            async with self._app.lifespan(Workplace(dsn=self._dsn, roles=self._options.served)):
                wirings = self._wirings = [
                    Wiring(self._app, self._dsn, options, leave=self.stop) for options in self._options.by_role()
                ]
                if await self._open_all(wirings):
                    await self._work(wirings)
        finally:
            if follower is not None:
                follower.cancel()
        if self._failure is not None:
            raise self._failure

    async def _follow(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self.stop()

    async def _open_all(self, wirings: Sequence[Wiring]) -> bool:
        """Open all parts; return False if the worker was stopped before the database answered."""
        opening = asyncio.create_task(_open(wirings))
        stopping = asyncio.create_task(self._stopping.wait())
        opened = False
        try:
            await asyncio.wait({opening, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if opening.done():
                opening.result()
                opened = True
        finally:
            stopping.cancel()
            opening.cancel()
            if not opened:
                await asyncio.wait({opening})
                for wiring in wirings:
                    await wiring.close()
        return opened

    async def _work(self, wirings: Sequence[Wiring]) -> None:
        working = [self._begin(wiring) for wiring in wirings]
        self._working = True
        watching = self._watch_for_idleness(wirings[0]) if self._options.until_idle else None
        self._started.set()
        try:
            await self._stopping.wait()
        except asyncio.CancelledError:
            self.stop(now=True)
            raise
        finally:
            if watching is not None:
                watching.cancel()
            for wiring in wirings:
                wiring.events.emit_worker_event(EventType.WORKER_STOPPING, wiring.registration.worker_id)
            await asyncio.gather(*map(self._end, wirings, working))
            self._working = False

    def _begin(self, wiring: Wiring) -> dict[str, asyncio.Task[None]]:
        self._announce(wiring)
        working = {name: self._start(name, duty) for name, duty in wiring.duties().items()}
        wiring.heartbeat.start()
        return working

    async def _end(self, wiring: Wiring, working: Mapping[str, asyncio.Task[None]]) -> None:
        await Shutdown(wiring, working, self._now, grace=self._options.grace).run()
        wiring.events.emit_worker_event(EventType.WORKER_STOPPED, wiring.registration.worker_id)
        wiring.events.flush()

    def _watch_for_idleness(self, wiring: Wiring) -> asyncio.Task[None]:
        watch = IdleWatch(wiring.maintenance_session, wiring.registration, self._options.served, self.stop)
        return self._start("idleness", watch.run())

    def _announce(self, wiring: Wiring) -> None:
        served = wiring.registration.info.roles
        way = {"by": "hand-off"} if self._options.handoff.on else {}
        facts = {"roles": list(served), "slots": len(wiring.slots), **way}
        wiring.events.emit_worker_event(EventType.WORKER_STARTED, wiring.registration.worker_id, **facts)
        wiring.events.flush()
        if wiring.transport.reach is Reach.NOTHING:
            log.info("Polling for work every %g s, without notifications", self._options.poll_interval)
        known = {handler.role for handler in self._app.handlers.values()}
        known |= {procedure.role for procedure in wiring.handler_registry.procedures.values()}
        for role in set(served) - known:
            log.warning("No handler has the role %s by default", role)

    def _start(self, name: str, duty: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(duty, name=f"rolecall-{name}")
        task.add_done_callback(self._on_duty_end)
        return task

    def _on_duty_end(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None and not self.stopping:
            log.critical("%s failed: the worker stops", task.get_name(), exc_info=error)
            self._failure = error
            self.stop()


async def _open(wirings: Sequence[Wiring]) -> None:
    for wiring in wirings:
        await wiring.open()
