"""Creates the parts of a worker and connects them. Read this first to see which part calls which."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any

from rolecall.maintenance.duties import withdraw_undeclared
from rolecall.maintenance.periodic import Periodic
from rolecall.maintenance.runner import MaintenanceRunner
from rolecall.maintenance.runs import EmittingSession
from rolecall.model.workers import Condition, WorkerCommand, WorkerInfo
from rolecall.telemetry import EventType
from rolecall.telemetry.tracing import tracing_of
from rolecall.transport.choice import choose
from rolecall.transport.in_process import Silence
from rolecall.transport.listener import Listener, PostgresTransport
from rolecall.transport.transport import (
    CANCEL_CHANNEL,
    COMMAND_CHANNEL,
    HANDLERS_CHANNEL,
    PAUSE_CHANNEL,
    WAKE_CHANNEL,
    Reach,
    Transport,
)
from rolecall.transport.waker import Pace, PaceOptions
from rolecall.worker.afterwards import AfterCommitCalls
from rolecall.worker.commands import CommandFollower
from rolecall.worker.completer import Completer
from rolecall.worker.events import WorkerEvents
from rolecall.worker.execution import registry_of
from rolecall.worker.handler_services import HandlerServices
from rolecall.worker.handoff import DispatchedClaims
from rolecall.worker.health import Signs, WorkerHealth, judge
from rolecall.worker.heartbeat import HeartbeatThread, LagWatch
from rolecall.worker.in_flight import InFlight
from rolecall.worker.large import LargeFields
from rolecall.worker.leases import Aborter, LeaseKeeper, LostTask
from rolecall.worker.local_queue import Demand, LocalQueue
from rolecall.worker.options import WorkerOptions
from rolecall.worker.outcomes import Outcomes
from rolecall.worker.producer import Claims, Delivery, Producer
from rolecall.worker.program import Program
from rolecall.worker.registration import Registration, declare, describe_worker, warn_of_other_apps
from rolecall.worker.reporting import SUMMARY_EVERY, LogReporter
from rolecall.worker.resources import ResourceMonitor
from rolecall.worker.session import DatabaseSessions, ForkGuard
from rolecall.worker.slot import Slot
from rolecall.worker.stacks import StackReporter
from rolecall.worker.subprocess.pool import Processes
from rolecall.worker.task_logs import TaskLogs
from rolecall.worker.tracing import TraceLookup

log = logging.getLogger("rolecall.worker")

SLOT = "slot-"
STACK = "stack"
LOOK_EVERY = 30.0


class Wiring:
    """All parts of one worker, created in its running loop (diagram in `rolecall.worker`).

    `leave` stops the worker when it is decommissioned.
    """

    def __init__(self, app: Program, dsn: str, options: WorkerOptions, leave: Callable[[], None]) -> None:
        self._app = app
        self._options = options
        self._leave = leave
        self._loop = asyncio.get_running_loop()
        self._fork_guard = ForkGuard()
        worker = describe_worker(options, self._app.handlers)
        self.events = WorkerEvents(self._app.emitter, worker.name)
        open_sessions = partial(
            DatabaseSessions,
            deadline=options.call_deadline,
            fork_guard=self._fork_guard,
            mark=secrets.token_hex(6),
            on_silence=partial(self.events.emit_error, EventType.STATE_ADAPTER_ERROR),
        )
        self._sessions = open_sessions(dsn, pooled=options.pooled)
        direct = options.listen_dsn
        self._listen = open_sessions(direct) if direct else self._sessions
        self._build_foundations(worker)
        self._build_execution()
        self._build_production()
        self._build_background()

    async def open(self) -> None:
        """Check the schema, declare the app and its schedules, and register the worker."""
        await declare(self.claim_session, self._app)
        await self._look_for_procedures()
        await self.registration.register(self.claim_session)
        await withdraw_undeclared(self.claim_session)
        await warn_of_other_apps(self.claim_session, self._app.name)
        self.task_logs.attach()

    def duties(self) -> dict[str, Coroutine[Any, Any, None]]:
        """Return the coroutines that run concurrently in the worker's loop, by name."""
        running = {f"{SLOT}{number}": slot.run() for number, slot in enumerate(self.slots, 1)}
        running |= {
            "completer": self.completer.run(),
            "producer": self.producer.run(),
            "summary": self.summary.run(),
            "task_logs": self.task_logs.run(),
            "procedures": self.procedure_check.run(),
        }
        if self._options.may_hear or self.transport.reach is not Reach.ALL:
            running["listener"] = self.listener.run()
        if self.handoff is not None:
            running["handoff"] = self.handoff.run()
        if self._options.maintenance:
            running["maintenance"] = self.maintenance.run()
        return running

    def health(self, *, working: bool) -> WorkerHealth:
        """Return the health, from any thread; before `working`, it depends only on the database."""
        problem = self.claim_session.problem or self.renew_session.problem
        if not working:
            return judge(Signs(problem=problem))
        return judge(
            Signs(
                lag=self.lag_watch.lag(),
                beating=not self.heartbeat.failed,
                behind=self.producer.lateness(),
                problem=problem,
                command=self.commands.command,
            )
        )

    async def close(self) -> None:
        """End the child processes and close all connections except that of the heartbeat thread."""
        await self.processes.close()
        if self.handoff is not None:
            await self.handoff.close()
        self.task_logs.detach()
        for session in (self.claim_session, self.finish_session, self.maintenance_session, self.log_session):
            await session.close()
        await self.pool.close()

    def _build_foundations(self, worker: WorkerInfo) -> None:
        options = self._options
        self.claim_session = self._sessions.open_relaxed("claim")
        self.finish_session = self._sessions.open("settle")
        self.renew_session = self._sessions.open("renew")
        self.maintenance_session = self._sessions.open("maintain")
        self.log_session = self._sessions.open_relaxed("logs")
        self.pool = self._sessions.pool("handlers", most=options.slot_count)
        self.in_flight = InFlight()
        self.log_reporter = LogReporter(self.in_flight)
        self.resource_monitor = ResourceMonitor(options, self._back_off)
        self.registration = Registration(
            worker,
            self.in_flight,
            self._app,
            condition=self._condition,
            on_command=self._on_command,
            session_suffix=lambda: self._sessions.session_suffix,
        )
        self.afterwards = AfterCommitCalls()
        self.completer = Completer(
            self.finish_session,
            self.in_flight,
            self.log_reporter,
            self.events,
            self._nudge_producer,
            self.afterwards,
        )
        self.local_queue = LocalQueue(self.completer.give_back)

    def _build_execution(self) -> None:
        options = self._options
        contracts = self._app.contracts()
        intakes = {name: handler.intake for name, handler in self._app.handlers.items()}
        tracing = tracing_of(self._app.sinks)
        secrets = {name: handler.secrets_in for name, handler in self._app.handlers.items() if handler.hides}
        levels = {name: handler.logs for name, handler in self._app.handlers.items() if handler.logs is not None}
        self.task_logs = TaskLogs(self.log_session, options.task_logs, levels, secrets)
        self.outcomes = Outcomes(self.completer, self.events, contracts, intakes, tracing, secrets)
        self.aborter = Aborter(self.local_queue, self.outcomes, grace=options.abort_grace)
        self.demand = Demand(options.prefetch, options.slot_count)
        self.slots = [
            Slot(
                n,
                self.local_queue,
                self.demand,
                completer=self.completer,
                events=self.events,
                fork_guard=self._fork_guard,
                logs=self.task_logs,
            )
            for n in range(1, options.slot_count + 1)
        ]
        carried = [*self._app.carried, *(tracing.carried if tracing else ())]
        self.processes = Processes(self._fork_guard, carried)
        services = HandlerServices(
            self.finish_session,
            self.pool,
            self.in_flight,
            self._loop,
            contracts,
            self.processes,
            self._fork_guard,
            self.afterwards,
            self.events,
            tracing,
            LargeFields(self._app.large, self._app.handlers),
        )
        self.handler_registry = registry_of(self._app, services, self.outcomes)

    def _build_production(self) -> None:
        options = self._options
        self.keeper = LeaseKeeper(
            self.in_flight,
            self.renew_session,
            self._abort_lost,
            self.events,
            stop_when_cut_off=options.stop_when_cut_off,
            grace=options.abort_grace,
        )
        self.delivery = Delivery(
            self.local_queue,
            self.in_flight,
            completer=self.completer,
            aborter=self.aborter,
        )
        traces = TraceLookup(self.claim_session) if tracing_of(self._app.sinks) else None
        claims = Claims(self.claim_session, self.registration, self.handler_registry, traces)
        self.handoff = self._handoff(claims) if options.handoff.on else None
        self.producer = Producer(
            self.handoff or claims,
            self.delivery,
            self.slots,
            local_queue=self.local_queue,
            demand=self.demand,
            pace=Pace(PaceOptions(poll_interval=options.poll_interval), self._is_deaf),
        )
        self.commands = CommandFollower(self.producer.claim_limit, self.delivery, self.in_flight, self._leave)

    def _build_background(self) -> None:
        options = self._options
        self.transport = self._transport()
        self.listener = Listener(
            self.transport,
            handlers={
                WAKE_CHANNEL: self.producer.on_wake,
                CANCEL_CHANNEL: self._on_cancel_notification,
                HANDLERS_CHANNEL: self._on_handlers_notification,
                COMMAND_CHANNEL: self._on_command_notification,
                PAUSE_CHANNEL: self.delivery.take_back,
            },
            on_return=self._catch_up,
            on_failure=self._on_listener_lost,
        )
        self.lag_watch = LagWatch(self._loop, self.in_flight, self.local_queue, self.renew_session)
        self.stacks = StackReporter(self.in_flight, self.processes, self.renew_session, self.lag_watch.lag)
        self.heartbeat = HeartbeatThread(
            self.keeper,
            self.registration,
            self.lag_watch,
            self.resource_monitor,
            self.stacks,
            session=self.renew_session,
            beat_every=options.heartbeat_interval,
        )
        self.maintenance = MaintenanceRunner(EmittingSession(self.maintenance_session, self._app.emitter))
        self.summary = Periodic("Summary", self.log_reporter.summarize, every=SUMMARY_EVERY, log=log)
        self.procedure_check = Periodic("Checking for procedures", self._look_for_procedures, every=LOOK_EVERY, log=log)

    def _handoff(self, polling: Claims) -> DispatchedClaims:
        handoff = DispatchedClaims(
            self._options.handoff, polling, self.claim_session, self.registration, self._nudge_producer
        )
        self.in_flight.on_dropped = handoff.acknowledge_dropped
        return handoff

    def _nudge_producer(self) -> None:
        self.producer.work.nudge()

    def _transport(self) -> Transport:
        if not self._options.listen:
            return Silence()
        postgres = PostgresTransport(lambda: self._listen.connect("listen"), self.finish_session.run)
        return choose(self._options.notifications, postgres)

    def _is_deaf(self) -> bool:
        return self.listener.is_cut_off

    def _catch_up(self) -> None:
        # Notifications were missed: of new tasks, of tasks that must stop, of a command, and of requested stacks.
        self._nudge_producer()
        self.keeper.renew_all_now()
        self.procedure_check.nudge()
        self.heartbeat.beat_now()
        self._report_stacks()

    def _on_listener_lost(self, error: Exception) -> None:
        self.events.emit_error(EventType.NOTIFY_ADAPTER_ERROR, error)
        # A long wait may have begun because a notification was expected to end it.
        self._nudge_producer()

    def _on_cancel_notification(self, worker_id: str) -> None:
        if worker_id in {"", str(self.registration.worker_id)}:
            self.keeper.renew_all_now()

    def _on_command_notification(self, payload: str) -> None:
        worker_id, _, subject = payload.partition(" ")
        if worker_id != str(self.registration.worker_id):
            return
        if subject == STACK:
            self._report_stacks()
        else:
            self.heartbeat.beat_now()

    def _report_stacks(self) -> None:
        self.stacks.expect_requests()
        self.heartbeat.report_stacks_now()

    def _condition(self) -> Condition:
        return replace(self.resource_monitor.condition(), following=self.commands.command)

    def _on_command(self, command: WorkerCommand | None) -> None:
        if command is not self.commands.command:
            self._loop.call_soon_threadsafe(self._follow, command)
        if self.transport.reach in {Reach.NOTHING, Reach.PROCESS} or self.listener.is_cut_off:
            self._report_stacks()  # requests are not announced

    def _follow(self, command: WorkerCommand | None) -> None:
        self.commands.follow(command)
        self.heartbeat.beat_now()

    def _back_off(self, reason: str | None) -> None:
        self._loop.call_soon_threadsafe(partial(self.producer.claim_limit.back_off, on=reason is not None))
        self.heartbeat.beat_now()

    def _on_handlers_notification(self, _payload: str) -> None:
        self.procedure_check.nudge()

    async def _look_for_procedures(self) -> None:
        if await self.handler_registry.refresh(self.maintenance_session):
            await self.registration.serve(self.maintenance_session, self.handler_registry.names)
            self._nudge_producer()

    def _abort_lost(self, lost_tasks: list[LostTask]) -> None:
        self._loop.call_soon_threadsafe(self.aborter.abort_each, lost_tasks)
