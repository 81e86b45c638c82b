"""The collaborators of one worker, made and introduced to one another."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from rolecall.db.migrator import check_async
from rolecall.maintenance.crew import Crew
from rolecall.maintenance.periodic import Periodic
from rolecall.sql import roles, schedules
from rolecall.wake.listener import CANCEL_CHANNEL, WAKE_CHANNEL, Listener, ListenerOptions, send_probe
from rolecall.wake.pace import Pace, PaceOptions
from rolecall.worker.aborts import Aborter
from rolecall.worker.board import Board
from rolecall.worker.claims import Claims
from rolecall.worker.context import Services
from rolecall.worker.delivery import Delivery
from rolecall.worker.demand import Demand
from rolecall.worker.held import Hands
from rolecall.worker.keeper import LeaseKeeper, Lost
from rolecall.worker.lag import LagWatch
from rolecall.worker.narrator import SUMMARY_EVERY, Narrator
from rolecall.worker.options import WorkerOptions
from rolecall.worker.outcomes import Outcomes
from rolecall.worker.producer import Producer
from rolecall.worker.program import Program
from rolecall.worker.pulse import Pulse
from rolecall.worker.rollcall import RollCall, introduce
from rolecall.worker.runners import runner_for
from rolecall.worker.session import Sessions
from rolecall.worker.settler import Settler
from rolecall.worker.slots import Slot

log = logging.getLogger("rolecall.worker")

SLOT = "slot-"


class Staff:
    """Everything that a worker consists of, built inside its running loop; `rolecall.worker` draws how it
    hangs together.
    """

    def __init__(self, app: Program, dsn: str, options: WorkerOptions) -> None:
        self._app = app
        self._options = options
        self._loop = asyncio.get_running_loop()
        self._sessions = Sessions(dsn, deadline=options.call_deadline, pooled=options.pooled)
        self._listen = Sessions(options.listen_dsn or dsn, deadline=options.call_deadline)
        self._build_foundations()
        self._build_execution()
        self._build_production()
        self._build_rounds()

    async def open(self) -> None:
        """Make sure that the schema fits, declare the app, add its schedules, enter the roll."""
        await self.claiming.ask(check_async)
        await self.claiming.run(roles.declare(*self._app.declaration()))
        await self.claiming.run(schedules.ensure(self._app.schedules.values()))
        await self.roll.register(self.claiming)

    def duties(self) -> dict[str, Coroutine[Any, Any, None]]:
        """Return what runs side by side in the worker's loop, by name."""
        running = {f"{SLOT}{number}": slot.run() for number, slot in enumerate(self.slots, 1)}
        running |= {
            "settler": self.settler.run(),
            "producer": self.producer.run(),
            "summary": self.summary.run(),
        }
        if self._options.listen:
            running["listener"] = self.listener.run()
        if self._options.maintenance:
            running["maintenance"] = self.crew.run()
        return running

    async def close(self) -> None:
        """Close every connection of the worker's loop; the pulse closes its own."""
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
        self.board = Board()
        self.narrator = Narrator(self.hands)
        self.roll = RollCall(introduce(options, tuple(self._app.handlers)), self.hands)
        self.settler = Settler(self.settling, self.hands, self.narrator, self._stir)

    def _build_execution(self) -> None:
        options = self._options
        self.outcomes = Outcomes(self.settler, self.hands)
        self.aborter = Aborter(self.board, self.outcomes, grace=options.abort_grace)
        self.demand = Demand(options.prefetch)
        self.slots = [Slot(n, self.board, self.demand, self.settler) for n in range(1, options.slots + 1)]
        services = Services(self.settling, self.pool, self._loop)
        self.runners = {
            name: runner_for(handler, services, self.outcomes) for name, handler in self._app.handlers.items()
        }

    def _build_production(self) -> None:
        options = self._options
        self.keeper = LeaseKeeper(self.hands, self.renewing, self._lost)
        self.delivery = Delivery(
            self.board,
            self.hands,
            keeper=self.keeper,
            settler=self.settler,
            aborter=self.aborter,
            narrator=self.narrator,
        )
        self.producer = Producer(
            Claims(self.claiming, self.roll, self.runners),
            self.delivery,
            self.slots,
            board=self.board,
            demand=self.demand,
            pace=Pace(PaceOptions(poll_interval=options.poll_interval), self._is_deaf),
        )

    def _build_rounds(self) -> None:
        options = self._options
        self.listener = Listener(
            connect=lambda: self._listen.connect("listen"),
            probe=lambda token: self.settling.run(send_probe(token)),
            hears={WAKE_CHANNEL: self._hear_wake, CANCEL_CHANNEL: self._hear_cancel},
            on_return=self._stir,
            options=ListenerOptions(),
        )
        lag = LagWatch(self._loop, self.hands)
        self.pulse = Pulse(self.keeper, self.roll, lag, session=self.renewing, beat_every=options.heartbeat_interval)
        self.crew = Crew(self.minding)
        self.summary = Periodic("Summary", self.narrator.summarize, every=SUMMARY_EVERY, log=log)

    def _stir(self) -> None:
        self.producer.work.nudge()

    def _is_deaf(self) -> bool:
        return self._options.listen and not self.listener.alive

    def _hear_wake(self, role: str) -> None:
        if not self._options.roles or role in self._options.roles:
            self._stir()

    def _hear_cancel(self, worker_id: str) -> None:
        if worker_id == str(self.roll.worker_id):
            self.keeper.look_now()

    def _lost(self, several: list[Lost]) -> None:
        self._loop.call_soon_threadsafe(self.aborter.abort_each, several)
