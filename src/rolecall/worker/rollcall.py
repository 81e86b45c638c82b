"""The worker's entry in the roll: registered at the start, confirmed by heartbeats, taken out at the end."""

from __future__ import annotations

import logging
import os
import secrets
import socket
from importlib.metadata import PackageNotFoundError, version

from rolecall.model.workers import WorkerInfo
from rolecall.sql import workers
from rolecall.worker.held import Hands
from rolecall.worker.options import WorkerOptions
from rolecall.worker.session import Session

log = logging.getLogger("rolecall.worker")


class RollCall:
    """Holds the id under which new claims are made; tasks claimed under an older id keep that one."""

    def __init__(self, info: WorkerInfo, hands: Hands) -> None:
        self.info = info
        self.worker_id = 0
        self.idle = False
        self._hands = hands

    async def register(self, session: Session) -> None:
        """Enter the roll under a new id."""
        self.worker_id = await session.run(workers.register(self.info))

    async def beat(self, session: Session) -> None:
        """Say that this worker lives; register again if nobody knows it any more."""
        if not await self._beat(session):
            await self.register(session)
            await self._beat(session)
            log.warning("The roll did not know this worker any more; it goes on as worker %d", self.worker_id)

    async def mark_idle(self, session: Session, *, idle: bool) -> None:
        """Say whether this worker waits for work: while it does, an enqueue notifies it."""
        if self.idle != idle:
            self.idle = idle
            await session.run(workers.mark_idle(self.worker_id, idle=idle))

    async def _beat(self, session: Session) -> bool:
        told = self.idle
        known = await session.run(workers.beat(self.worker_id, len(self._hands), idle=told))
        # A mark set meanwhile, in the other thread, may have been overwritten by what this beat said.
        return known if self.idle == told else await self._beat(session)

    async def deregister(self, session: Session) -> int:
        """Leave the roll and give back what is still held; return how many tasks that were."""
        return await session.run(workers.deregister(self.worker_id))


def introduce(options: WorkerOptions, handlers: tuple[str, ...]) -> WorkerInfo:
    """Describe this process for the roll; the name is for people, the identity is the id that the roll
    gives.
    """
    place = options.roles[0] if len(options.roles) == 1 else "any" if not options.roles else "several"
    return WorkerInfo(
        name=options.name or f"worker-{place}-{secrets.token_hex(4)}",
        roles=options.roles,
        handlers=handlers,
        slots=options.slots,
        host=socket.gethostname(),
        pid=os.getpid(),
        version=_version(),
    )


def _version() -> str:
    try:
        return version("rolecall")
    except PackageNotFoundError:
        return "unknown"
