"""Declares the app and keeps the worker's entry in the worker registry."""

from __future__ import annotations

import logging
import os
import secrets
import socket
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version

from rolecall.db.migrations import ROLECALL
from rolecall.db.migrator import check_async
from rolecall.maintenance.processes import own_process
from rolecall.maintenance.runs import DutySession
from rolecall.model.workers import Condition, HeartbeatAnswer, WorkerCommand, WorkerInfo
from rolecall.sql import keys, roles, schedules, workers
from rolecall.worker.in_flight import InFlight
from rolecall.worker.options import WorkerOptions
from rolecall.worker.program import Handler, Program
from rolecall.worker.session import DatabaseSession

log = logging.getLogger("rolecall.worker")


async def declare(session: DatabaseSession, app: Program) -> None:
    """Declare the app's roles, handlers and keys, and add missing schedules.

    Raises SchemaMissing, SchemaTooNew and SchemaDrift, also for the app's own tables.
    """
    await session.run_all(lambda connection: check_async(connection, ROLECALL, *app.migrations))
    await declare_unchecked(session, app)


async def declare_unchecked(session: DutySession, app: Program) -> None:
    """Declare the app without checking the schema."""
    await session.run(roles.declare(*app.declaration()))
    await session.run(keys.declare(app.key_capacities))
    await session.run(schedules.ensure(app.schedules.values()))


def declarations_of(app: Program) -> dict[str, dict[str, object]]:
    """Return the settings of the app's declarations, by kind and name."""
    declared_roles, handlers = app.declaration()
    return {
        "role": {str(role["name"]): {name: role[name] for name in role.keys() - {"name"}} for role in declared_roles},
        "handler": {str(handler["name"]): handler for handler in handlers},
        "key": dict(app.key_capacities),
        "schedule": {name: schedules.document_of(schedule) for name, schedule in app.schedules.items()},
    }


async def warn_of_other_apps(session: DatabaseSession, app: str) -> None:
    """Log a warning for each declaration of the app that live workers of another app make with other settings.

    Also if the other app has the same name.
    """
    for contested in await session.run(workers.contested_declarations()):
        if app in contested.apps:
            log.warning("%s: %s", contested.problem, contested.advice)


class Registration:
    """The worker's entry in the worker registry, with the id under which new claims are made.

    Tasks that were claimed under an earlier id keep it. Each heartbeat sends `condition` and passes the stored
    command to `on_command`. `session_suffix` returns the suffix of the worker's session names, if it identifies them.
    """

    def __init__(
        self,
        info: WorkerInfo,
        in_flight: InFlight,
        app: Program,
        *,
        condition: Callable[[], Condition],
        on_command: Callable[[WorkerCommand | None], None],
        session_suffix: Callable[[], str | None],
    ) -> None:
        self.info = info
        self._app = app
        self._known_by = session_suffix
        self._taken_for_dead = False
        self._condition = condition
        self._on_command = on_command
        self.worker_id = 0
        self.idle = False
        self._in_flight = in_flight

    async def register(self, session: DatabaseSession) -> None:
        worker_id = await session.run(workers.register(self.info))
        await session.run(workers.record_intakes(worker_id, self.info.intakes))
        await session.run(workers.declare_release(worker_id, self._app.name, declarations_of(self._app)))
        if not self._taken_for_dead:
            await session.run(workers.record_process(worker_id, own_process(), self._known_by()))
        self.worker_id = worker_id

    async def serve(self, session: DatabaseSession, handlers: tuple[str, ...]) -> None:
        """Store which handlers this worker runs. Before registration, only remember them."""
        self.info = replace(self.info, handlers=handlers)
        if self.worker_id:
            await session.run(workers.serve(self.worker_id, handlers))

    async def beat(self, session: DatabaseSession) -> None:
        """Send a heartbeat; register again if the entry is missing.

        A worker whose entry was removed may have been considered dead. From then on it stores no proof of death, so
        its tasks are rescued only when their leases expire.
        """
        answer = await self._beat(session)
        if not answer.is_registered:
            self._taken_for_dead = True
            await self.register(session)
            await self._beat(session)
            log.warning("This worker was missing from the worker registry and continues as worker %d", self.worker_id)
        else:
            self._on_command(answer.command)

    async def mark_idle(self, session: DatabaseSession, *, idle: bool) -> None:
        """Store whether this worker waits for work. Only idle workers are notified of new tasks."""
        if self.idle != idle:
            self.idle = idle
            await session.run(workers.mark_idle(self.worker_id, idle=idle))

    async def wake_others(self, session: DatabaseSession) -> None:
        """Report that this worker was woken but has no free slot, so that others are woken."""
        self.idle = False
        await session.run(workers.wake_others(self.worker_id, self.info.roles, self.info.handlers))

    async def _beat(self, session: DatabaseSession) -> HeartbeatAnswer:
        idle = self.idle
        answer = await session.run(
            workers.heartbeat(self.worker_id, len(self._in_flight), self._condition(), idle=idle)
        )
        # The other thread may have changed the mark meanwhile, and this heartbeat may have overwritten it.
        return answer if self.idle == idle else await self._beat(session)

    async def deregister(self, session: DatabaseSession) -> int:
        """Remove the entry and give back all tasks that are still held; return their number."""
        return await session.run(workers.deregister(self.worker_id))


def describe_worker(options: WorkerOptions, handlers: Mapping[str, Handler]) -> WorkerInfo:
    """Describe this process for the worker registry. Names are for people; workers are identified by their id."""
    place = options.roles[0] if len(options.roles) == 1 else "any" if not options.roles else "several"
    return WorkerInfo(
        name=options.name or f"worker-{place}-{secrets.token_hex(4)}",
        roles=options.roles,
        handlers=tuple(handlers),
        slots=options.slot_count,
        host=socket.gethostname(),
        pid=os.getpid(),
        version=_version(),
        intakes=tuple(handler.intake for handler in handlers.values()),
        pod=options.pod,
        node=options.node,
    )


def _version() -> str:
    try:
        return version("rolecall")
    except PackageNotFoundError:
        return "unknown"
