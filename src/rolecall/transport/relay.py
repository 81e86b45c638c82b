"""Forwards Postgres notifications to a broker, so that workers need no listening connection each.

    Postgres ──LISTEN──▶ relay ──publish──▶ Redis, NATS ──▶ workers
                           └─heartbeat, every two seconds─▶

Any number of relays can run, because repeated hints are harmless. A relay sends heartbeats while it receives
notifications itself. Without heartbeats, workers poll more often. After a gap, the next heartbeat makes workers look
for tasks.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import suppress
from functools import partial
from time import monotonic

from rolecall.model.errors import RolecallError
from rolecall.transport.listener import Listener, ListenerOptions
from rolecall.transport.transport import BACK, BEAT_CHANNEL, CHANNELS, Message, Transport
from rolecall.transport.waker import Backoff, Waker

BEAT_EVERY = 2.0
MOST_WAITING = 10_000

log = logging.getLogger("rolecall.transport")


class Relay:
    """Subscribes to one transport and publishes all five channels on another. Not in the worker registry."""

    def __init__(self, source: Transport, target: Transport, options: ListenerOptions | None = None) -> None:
        self._source = source
        self._target = target
        self._waiting: deque[Message] = deque()
        self._waker = Waker()
        self._backoff = Backoff(0.1, 5.0)
        self._missed = True
        self._is_away = False
        self._beat_at = 0.0
        handlers = {channel: partial(self._take, channel) for channel in CHANNELS}
        self._listener = Listener(source, handlers, self._note_return, options=options)

    @property
    def target(self) -> str:
        """The name of the target, without secrets."""
        return self._target.name

    async def run(self) -> None:
        """Forward until cancelled. Returns only if notifications can never arrive, behind a pooler."""
        log.info("Forwarding notifications from %s to %s", self._source.name, self.target)
        forwarding = asyncio.create_task(self._forward_forever(), name="rolecall-relay")
        try:
            await self._listener.run()
        finally:
            forwarding.cancel()
            await asyncio.wait({forwarding})
            with suppress(RolecallError, OSError):
                await self._target.close()

    def _take(self, channel: str, payload: str) -> None:
        if len(self._waiting) == MOST_WAITING:
            # Instead of the dropped notifications, workers look for everything.
            self._waiting.clear()
            self._missed = True
        self._waiting.append((channel, payload))
        self._waker.nudge()

    def _note_return(self) -> None:
        self._missed = True
        self._waker.nudge()

    async def _forward_forever(self) -> None:
        while True:
            try:
                await self._forward()
            except Exception as error:  # noqa: BLE001 - retried after any error
                self._note_failure(error)
                await asyncio.sleep(self._backoff.next())
            else:
                self._note_success()
                await self._waker.wait(max(0.0, self._beat_at - monotonic()))

    async def _forward(self) -> None:
        while self._waiting:
            await self._target.publish(*self._waiting.popleft())
        now = monotonic()
        if self._missed or now >= self._beat_at:
            self._beat_at = now + BEAT_EVERY
            if self._listener.alive:
                missed, self._missed = self._missed, False
                await self._target.publish(BEAT_CHANNEL, BACK if missed else "")

    def _note_failure(self, error: Exception) -> None:
        self._missed = True
        self._waiting.clear()
        level = logging.DEBUG if self._is_away else logging.WARNING
        unexpected = None if isinstance(error, (RolecallError, OSError)) else error
        log.log(level, "Cannot forward notifications to %s: %s", self._target.name, error, exc_info=unexpected)
        self._is_away = True

    def _note_success(self) -> None:
        if self._is_away:
            log.info("Forwarding notifications to %s again", self._target.name)
        self._is_away = False
        self._backoff.reset()
