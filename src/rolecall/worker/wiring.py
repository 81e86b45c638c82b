"""The parts of one worker, made and connected to one another: read this first to see who calls whom."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any

from rolecall.maintenance.runner import MaintenanceRunner, Periodic
from rolecall.model.workers import Condition, WorkerCommand
from rolecall.wake.listener import (
    CANCEL_CHANNEL,
    COMMAND_CHANNEL,
    HANDLERS_CHANNEL,
    PAUSE_CHANNEL,
    WAKE_CHANNEL,
    Listener,
    ListenerOptions,
    send_probe,
)
from rolecall.wake.waker import Pace, PaceOptions
from rolecall.worker.commands import CommandFollower
from rolecall.worker.completer import Completer
from rolecall.worker.context import HandlerServices
from rolecall.worker.heartbeat import HeartbeatThread, LagWatch
from rolecall.worker.in_flight import InFlight, Runner
from rolecall.worker.leases import Aborter, LeaseKeeper, LostTask
from rolecall.worker.local_queue import Demand, LocalQueue, Slot
from rolecall.worker.options import WorkerOptions
from rolecall.worker.outcomes import Outcomes
from rolecall.worker.procedures import ProcedureRunner
from rolecall.worker.producer import Claims, Delivery, Producer
from rolecall.worker.program import Handler, Program
from rolecall.worker.registration import Registration, declare, describe_worker
from rolecall.worker.reporting import SUMMARY_EVERY, LogReporter
from rolecall.worker.resources import ResourceMonitor
from rolecall.worker.runners import AsyncRunner, HandlerRegistry, NoGather, runner_for
from rolecall.worker.session import DatabaseSessions, ForkGuard
from rolecall.worker.subprocess.pool import Processes

log = logging.getLogger("rolecall.worker")

SLOT = "slot-"
LOOK_EVERY = 30.0


class Wiring:
    """Everything that a worker consists of, built inside its running loop; `rolecall.worker` draws it.

    `leave` ends the worker, when it is told to.
    """

    def __init__(self, app: Program, dsn: str, options: WorkerOptions, leave: Callable[[], None]) -> None:
        self._app = app
        self._options = options
        self._leave = leave
        self._loop = asyncio.get_running_loop()
        self._fork_guard = ForkGuard()
        open_sessions = partial(
            DatabaseSessions, deadline=options.call_deadline, fork_guard=self._fork_guard, mark=secrets.token_hex(6)
        )
        self._sessions = open_sessions(dsn, pooled=options.pooled)
        direct = options.listen_dsn
        self._listen = open_sessions(direct) if direct else self._sessions
        self._build_foundations()
        self._build_execution()
        self._build_production()
        self._build_background()

    async def open(self) -> None:
        """Make sure that the schema fits, declare the app, add its schedules, enter the roll."""
        await declare(self.claim_session, self._app)
        await self._look_for_procedures()
        await self.registration.register(self.claim_session)

    def duties(self) -> dict[str, Coroutine[Any, Any, None]]:
        """Return what runs side by side in the worker's loop, by name."""
        running = {f"{SLOT}{number}": slot.run() for number, slot in enumerate(self.slots, 1)}
        running |= {
            "completer": self.completer.run(),
            "producer": self.producer.run(),
            "summary": self.summary.run(),
            "procedures": self.procedure_check.run(),
        }
        if self._options.may_hear:
            running["listener"] = self.listener.run()
        if self._options.maintenance:
            running["maintenance"] = self.maintenance.run()
        return running

    async def close(self) -> None:
        """End the handlers' processes and close every connection but the heartbeat thread's, which closes its own."""
        await self.processes.close()
        for session in (self.claim_session, self.finish_session, self.maintenance_session):
            await session.close()
        await self.pool.close()

    def _build_foundations(self) -> None:
        options = self._options
        self.claim_session = self._sessions.open_relaxed("claim")
        self.finish_session = self._sessions.open("settle")
        self.renew_session = self._sessions.open("renew")
        self.maintenance_session = self._sessions.open("maintain")
        self.pool = self._sessions.pool("handlers", most=options.slot_count)
        self.in_flight = InFlight()
        self.log_reporter = LogReporter(self.in_flight)
        self.resource_monitor = ResourceMonitor(options, self._back_off)
        self.registration = Registration(
            describe_worker(options, self._app.handlers),
            self.in_flight,
            condition=self._condition,
            on_command=self._hear_command,
            known_by=lambda: self._sessions.known_by,
        )
        self.completer = Completer(self.finish_session, self.in_flight, self.log_reporter, self._nudge_producer)
        self.local_queue = LocalQueue(self.completer.give_back)

    def _build_execution(self) -> None:
        options = self._options
        contracts = self._app.contracts()
        intakes = {name: handler.intake for name, handler in self._app.handlers.items()}
        self.outcomes = Outcomes(self.completer, self.in_flight, contracts, intakes)
        self.aborter = Aborter(self.local_queue, self.outcomes, grace=options.abort_grace)
        self.demand = Demand(options.prefetch, options.slot_count)
        self.slots = [
            Slot(n, self.local_queue, self.demand, completer=self.completer, fork_guard=self._fork_guard)
            for n in range(1, options.slot_count + 1)
        ]
        gathering = {name: handler.gather for name, handler in self._app.handlers.items() if handler.gather}
        self.processes = Processes(self._fork_guard, self._app.carried)
        services = HandlerServices(
            self.finish_session,
            self.pool,
            self._loop,
            contracts,
            self.processes,
            self._fork_guard,
            frozenset(gathering),
        )

        def run(handler: Handler) -> Runner:
            middlewares = self._app.middlewares_of(handler.name)
            return runner_for(handler, services, self.outcomes, processes=self.processes, middlewares=middlewares)

        own = {name: run(handler) for name, handler in self._app.handlers.items()}
        gather_runners = {
            name: run(gathering[name])
            if name in gathering
            else AsyncRunner(NoGather(name), services, self.outcomes, ())
            for name in own
        }
        self.handler_registry = HandlerRegistry(
            own,
            gather_runners,
            lambda procedure: ProcedureRunner(
                procedure, services, self.outcomes, self._app.middlewares_of(procedure.name)
            ),
        )

    def _build_production(self) -> None:
        options = self._options
        self.keeper = LeaseKeeper(
            self.in_flight, self.renew_session, self._abort_lost, fences=options.stop_when_cut_off
        )
        self.delivery = Delivery(
            self.local_queue,
            self.in_flight,
            keeper=self.keeper,
            completer=self.completer,
            aborter=self.aborter,
            log_reporter=self.log_reporter,
        )
        self.producer = Producer(
            Claims(self.claim_session, self.registration, self.handler_registry),
            self.delivery,
            self.slots,
            local_queue=self.local_queue,
            demand=self.demand,
            pace=Pace(PaceOptions(poll_interval=options.poll_interval), self._is_deaf),
        )
        self.commands = CommandFollower(self.producer.claim_limit, self.delivery, self.in_flight, self._leave)

    def _build_background(self) -> None:
        options = self._options
        self.listener = Listener(
            connect=lambda: self._listen.connect("listen"),
            probe=lambda channel: self.finish_session.run(send_probe(channel)),
            hears={
                WAKE_CHANNEL: self.producer.hear_wake,
                CANCEL_CHANNEL: self._hear_cancel,
                HANDLERS_CHANNEL: self._hear_handlers,
                COMMAND_CHANNEL: self._hear_of_command,
                PAUSE_CHANNEL: self.delivery.take_back,
            },
            on_return=self._catch_up,
            options=ListenerOptions(),
        )
        lag = LagWatch(self._loop, self.in_flight, self.local_queue, self.renew_session)
        self.heartbeat = HeartbeatThread(
            self.keeper,
            self.registration,
            lag,
            self.resource_monitor,
            session=self.renew_session,
            beat_every=options.heartbeat_interval,
        )
        self.maintenance = MaintenanceRunner(self.maintenance_session)
        self.summary = Periodic("Summary", self.log_reporter.summarize, every=SUMMARY_EVERY, log=log)
        self.procedure_check = Periodic("Looking for procedures", self._look_for_procedures, every=LOOK_EVERY, log=log)

    def _nudge_producer(self) -> None:
        self.producer.work.nudge()

    def _is_deaf(self) -> bool:
        return self._options.listen and not self.listener.alive

    def _catch_up(self) -> None:
        # What was said meanwhile is lost: there may be work, tasks that must stop, and a command.
        self._nudge_producer()
        self.keeper.look_now()
        self.procedure_check.nudge()
        self.heartbeat.beat_now()

    def _hear_cancel(self, worker_id: str) -> None:
        if worker_id == str(self.registration.worker_id):
            self.keeper.look_now()

    def _hear_of_command(self, worker_id: str) -> None:
        if worker_id == str(self.registration.worker_id):
            self.heartbeat.beat_now()

    def _condition(self) -> Condition:
        return replace(self.resource_monitor.condition(), following=self.commands.command)

    def _hear_command(self, command: WorkerCommand | None) -> None:
        if command is not self.commands.command:
            self._loop.call_soon_threadsafe(self._follow, command)

    def _follow(self, command: WorkerCommand | None) -> None:
        self.commands.follow(command)
        self.heartbeat.beat_now()

    def _back_off(self, reason: str | None) -> None:
        self._loop.call_soon_threadsafe(partial(self.producer.claim_limit.back_off, on=reason is not None))
        self.heartbeat.beat_now()

    def _hear_handlers(self, _nothing: str) -> None:
        self.procedure_check.nudge()

    async def _look_for_procedures(self) -> None:
        if await self.handler_registry.look(self.maintenance_session):
            await self.registration.serve(self.maintenance_session, self.handler_registry.names)
            self._nudge_producer()

    def _abort_lost(self, lost_tasks: list[LostTask]) -> None:
        self._loop.call_soon_threadsafe(self.aborter.abort_each, lost_tasks)
