"""Executes operators' commands to a running worker: drain, decommission and resume."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from rolecall.model.workers import WorkerCommand
from rolecall.worker.in_flight import InFlight
from rolecall.worker.local_queue import ClaimLimit
from rolecall.worker.producer import Delivery

log = logging.getLogger("rolecall.worker")


class CommandFollower:
    """Executes the command that is stored in the worker registry. Must be used in the worker's loop."""

    def __init__(
        self, claim_limit: ClaimLimit, delivery: Delivery, in_flight: InFlight, leave: Callable[[], None]
    ) -> None:
        self._claim_limit = claim_limit
        self._delivery = delivery
        self._in_flight = in_flight
        self._leave = leave
        self.command: WorkerCommand | None = None
        self._leaving: asyncio.Task[None] | None = None

    def follow(self, command: WorkerCommand | None) -> None:
        if command is self.command:
            return
        self.command = command
        self._stay()
        self._claim_limit.drain(on=command is not None)
        if command is None:
            log.info("No command any more: claiming tasks again")
            return
        log.info("Command %s: claiming no new tasks, running tasks may finish", command)
        self._delivery.take_back_all()
        if command is WorkerCommand.DECOMMISSION:
            self._leaving = asyncio.create_task(self._leave_when_empty())

    def _stay(self) -> None:
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None

    async def _leave_when_empty(self) -> None:
        await self._in_flight.wait_until_empty()
        log.info("All held tasks have finished: decommissioned, stopping")
        self._leave()
