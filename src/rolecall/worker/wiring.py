"""The collaborators of one worker, made and introduced to one another."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any

from rolecall.maintenance.crew import Crew
from rolecall.maintenance.periodic import Periodic
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
from rolecall.worker.commands import Orders
from rolecall.worker.completer import Settler
from rolecall.worker.context import Services
from rolecall.worker.heartbeat import LagWatch, Pulse
from rolecall.worker.in_flight import Hands
from rolecall.worker.leases import Aborter, LeaseKeeper, Lost
from rolecall.worker.local_queue import Board, Demand
from rolecall.worker.options import WorkerOptions
from rolecall.worker.outcomes import Outcomes
from rolecall.worker.procedures import ProcedureRunner
from rolecall.worker.producer import Claims, Delivery, Producer
from rolecall.worker.program import Handler, Program
from rolecall.worker.registration import RollCall, declare, introduce
from rolecall.worker.reporting import SUMMARY_EVERY, Narrator
from rolecall.worker.resources import Vitals
from rolecall.worker.runners import AsyncRunner, NoGather, Repertoire, Runner, runner_for
from rolecall.worker.session import Home, Sessions
from rolecall.worker.slots import Slot
from rolecall.worker.subprocess.pool import Processes

log = logging.getLogger("rolecall.worker")

SLOT = "slot-"
LOOK_EVERY = 30.0


class Staff:
    """Everything that a worker consists of, built inside its running loop; `rolecall.worker` draws how it
    hangs together. `leave` ends the worker, when it is told to.
    """

    def __init__(self, app: Program, dsn: str, options: WorkerOptions, leave: Callable[[], None]) -> None:
        self._app = app
        self._options = options
        self._leave = leave
        self._loop = asyncio.get_running_loop()
        self._home = Home()
        self._sessions = Sessions(dsn, deadline=options.call_deadline, pooled=options.pooled, home=self._home)
        direct = options.listen_dsn
        self._listen = Sessions(direct, deadline=options.call_deadline, home=self._home) if direct else self._sessions
        self._build_foundations()
        self._build_execution()
        self._build_production()
        self._build_rounds()

    async def open(self) -> None:
        """Make sure that the schema fits, declare the app, add its schedules, enter the roll."""
        await declare(self.claiming, self._app)
        await self._look_for_procedures()
        await self.roll.register(self.claiming)

    def duties(self) -> dict[str, Coroutine[Any, Any, None]]:
        """Return what runs side by side in the worker's loop, by name."""
        running = {f"{SLOT}{number}": slot.run() for number, slot in enumerate(self.slots, 1)}
        running |= {
            "settler": self.settler.run(),
            "producer": self.producer.run(),
            "summary": self.summary.run(),
            "repertoire": self.looking.run(),
        }
        if self._options.may_hear:
            running["listener"] = self.listener.run()
        if self._options.maintenance:
            running["maintenance"] = self.crew.run()
        return running

    async def close(self) -> None:
        """End the handlers' processes and close every connection of the worker's loop; the pulse closes its own."""
        await self.processes.close()
        for session in (self.claiming, self.settling, self.minding):
            await session.close()
        await self.pool.close()

    def _build_foundations(self) -> None:
        options = self._options
        self.claiming = self._sessions.open_relaxed("claim")
        self.settling = self._sessions.open("settle")
        self.renewing = self._sessions.open("renew")
        self.minding = self._sessions.open("maintain")
        self.pool = self._sessions.pool("handlers", most=options.slots)
        self.hands = Hands()
        self.narrator = Narrator(self.hands)
        self.vitals = Vitals(options, self._backs_off)
        self.roll = RollCall(
            introduce(options, self._app.handlers), self.hands, condition=self._condition, told=self._told
        )
        self.settler = Settler(self.settling, self.hands, self.narrator, self._stir)
        self.board = Board(self.settler.give_back)

    def _build_execution(self) -> None:
        options = self._options
        contracts = self._app.contracts()
        intakes = {name: handler.intake for name, handler in self._app.handlers.items()}
        self.outcomes = Outcomes(self.settler, self.hands, contracts, intakes)
        self.aborter = Aborter(self.board, self.outcomes, grace=options.abort_grace)
        self.demand = Demand(options.prefetch, options.slots)
        self.slots = [
            Slot(n, self.board, self.demand, settler=self.settler, home=self._home) for n in range(1, options.slots + 1)
        ]
        gathering = {name: handler.gather for name, handler in self._app.handlers.items() if handler.gather}
        self.processes = Processes(self._home)
        services = Services(
            self.settling, self.pool, self._loop, contracts, self.processes, self._home, frozenset(gathering)
        )

        def run(handler: Handler) -> Runner:
            middlewares = self._app.middlewares_of(handler.name)
            return runner_for(handler, services, self.outcomes, processes=self.processes, middlewares=middlewares)

        own = {name: run(handler) for name, handler in self._app.handlers.items()}
        second = {
            name: run(gathering[name])
            if name in gathering
            else AsyncRunner(NoGather(name), services, self.outcomes, ())
            for name in own
        }
        self.repertoire = Repertoire(
            own,
            second,
            lambda procedure: ProcedureRunner(
                procedure, services, self.outcomes, self._app.middlewares_of(procedure.name)
            ),
        )

    def _build_production(self) -> None:
        options = self._options
        self.keeper = LeaseKeeper(self.hands, self.renewing, self._lost, fences=options.stop_when_cut_off)
        self.delivery = Delivery(
            self.board,
            self.hands,
            keeper=self.keeper,
            settler=self.settler,
            aborter=self.aborter,
            narrator=self.narrator,
        )
        self.producer = Producer(
            Claims(self.claiming, self.roll, self.repertoire),
            self.delivery,
            self.slots,
            board=self.board,
            demand=self.demand,
            pace=Pace(PaceOptions(poll_interval=options.poll_interval), self._is_deaf),
        )
        self.orders = Orders(self.producer.brake, self.delivery, self.hands, self._leave)

    def _build_rounds(self) -> None:
        options = self._options
        self.listener = Listener(
            connect=lambda: self._listen.connect("listen"),
            probe=lambda channel: self.settling.run(send_probe(channel)),
            hears={
                WAKE_CHANNEL: self._hear_wake,
                CANCEL_CHANNEL: self._hear_cancel,
                HANDLERS_CHANNEL: self._hear_handlers,
                COMMAND_CHANNEL: self._hear_command,
                PAUSE_CHANNEL: self.delivery.take_back,
            },
            on_return=self._hear_again,
            options=ListenerOptions(),
        )
        lag = LagWatch(self._loop, self.hands, self.board, self.renewing)
        self.pulse = Pulse(
            self.keeper, self.roll, lag, self.vitals, session=self.renewing, beat_every=options.heartbeat_interval
        )
        self.crew = Crew(self.minding)
        self.summary = Periodic("Summary", self.narrator.summarize, every=SUMMARY_EVERY, log=log)
        self.looking = Periodic("Looking for procedures", self._look_for_procedures, every=LOOK_EVERY, log=log)

    def _stir(self) -> None:
        self.producer.work.nudge()

    def _is_deaf(self) -> bool:
        return self._options.listen and not self.listener.alive

    def _hear_again(self) -> None:
        # What was said meanwhile is lost: there may be work, tasks that must stop, and a command.
        self._stir()
        self.keeper.look_now()
        self.looking.nudge()
        self.pulse.beat_now()

    def _hear_wake(self, woken: str) -> None:
        role, _, workers = woken.partition(":")
        if workers:
            if str(self.roll.worker_id) in workers.split(","):
                self.producer.choose()
        elif not self._options.roles or role in self._options.roles:
            self._stir()

    def _hear_cancel(self, worker_id: str) -> None:
        if worker_id == str(self.roll.worker_id):
            self.keeper.look_now()

    def _hear_command(self, worker_id: str) -> None:
        if worker_id == str(self.roll.worker_id):
            self.pulse.beat_now()

    def _condition(self) -> Condition:
        return replace(self.vitals.condition(), following=self.orders.command)

    def _told(self, command: WorkerCommand | None) -> None:
        if command is not self.orders.command:
            self._loop.call_soon_threadsafe(self._follow, command)

    def _follow(self, command: WorkerCommand | None) -> None:
        self.orders.follow(command)
        self.pulse.beat_now()

    def _backs_off(self, reason: str | None) -> None:
        self._loop.call_soon_threadsafe(partial(self.producer.brake.back_off, on=reason is not None))
        self.pulse.beat_now()

    def _hear_handlers(self, _nothing: str) -> None:
        self.looking.nudge()

    async def _look_for_procedures(self) -> None:
        if await self.repertoire.look(self.minding):
            await self.roll.serve(self.minding, self.repertoire.names)
            self._stir()

    def _lost(self, several: list[Lost]) -> None:
        self._loop.call_soon_threadsafe(self.aborter.abort_each, several)
