"""Records refused logins and requests: the first one soon, and then one audit entry a minute for each kind.

An attacker leaves a trace, but cannot fill the audit log.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from rolecall.model.audit import Actor, AuditEvent
from rolecall.model.errors import RolecallError
from rolecall.transport.waker import comes_within

Write = Callable[[Actor, AuditEvent, Mapping[str, object]], Awaitable[None]]

MOST_KINDS = 20
QUIET = 60.0
OTHER_ACTORS = Actor(name="nobody", via="system")

log = logging.getLogger("rolecall.web")


@dataclass(slots=True)
class RefusalCount:
    """How often the same request was refused, and since when."""

    event: AuditEvent
    number: int = 0
    since: datetime = field(default_factory=lambda: datetime.now(UTC))

    def outcome(self) -> Mapping[str, object]:
        """Return the outcome to record."""
        return {"number": self.number, "since": self.since.isoformat(timespec="seconds")}


class Refusals:
    """Counts refusals by actor, action and subject. `run` records them.

    Kinds beyond the twentieth within a minute are counted together by their action.
    """

    def __init__(self, write: Write, *, quiet: float = QUIET) -> None:
        self._write = write
        self._quiet = quiet
        self._tallies: dict[tuple[Actor, str, tuple[tuple[str, str], ...]], RefusalCount] = {}
        self._changed = asyncio.Event()
        self._stopping = asyncio.Event()

    def note(self, actor: Actor, action: str, about: Mapping[str, str]) -> None:
        """Count a refusal, without waiting."""
        if (actor, action, tuple(about.items())) not in self._tallies and len(self._tallies) >= MOST_KINDS:
            actor, about = OTHER_ACTORS, {"who": "others"}
        key = (actor, action, tuple(about.items()))
        self._tallies.setdefault(key, RefusalCount(AuditEvent(action, dict(about)))).number += 1
        self._changed.set()

    async def run(self) -> None:
        """Record refusals until `stop` is called, then the remaining ones."""
        while not self._stopping.is_set():
            await self._changed.wait()
            await self._record()
            await comes_within(self._stopping, self._quiet)
        await self._record()

    def stop(self) -> None:
        self._stopping.set()
        self._changed.set()

    async def _record(self) -> None:
        self._changed.clear()
        tallies, self._tallies = self._tallies, {}
        for (actor, _, _), tally in tallies.items():
            try:
                await self._write(actor, tally.event, tally.outcome())
            except RolecallError as error:
                log.warning("%d times %s could not be recorded: %s", tally.number, tally.event.action, error)
