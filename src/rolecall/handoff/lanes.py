"""What stands in Redis, by name: the keys of a lane, and the messages that lie there.

All keys of a role have its name as their hash tag, so that a cluster keeps them together and one script may touch them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from itertools import groupby
from operator import attrgetter

import msgspec

from rolecall.sql.statement import prepared

__all__ = ["REFILL", "Band", "Entry", "Lane", "LaneLength", "Message", "by_role", "read_message"]

# Told to dispatchers, with the name of a role, when a lane of it is half empty.
REFILL = "rolecall:refill"


class Band(StrEnum):
    """Which of a role's two lanes a task is handed over by: high for a priority above 0. High ones are taken first."""

    HIGH = "high"
    LOW = "low"


@dataclass(frozen=True, slots=True, order=True)
class Lane:
    """The tasks of one role and band."""

    band: Band
    role: str

    def key(self, what: str = "") -> str:
        """Return the name of a key; of the list itself without `what`."""
        return f"rolecall:{{{self.role}}}:{self.band}{':' if what else ''}{what}"


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """What is said of a task: which one, which attempt comes next, and when it was handed over."""

    task_id: int
    attempt: int = 1
    at: datetime | None = None

    def encode(self) -> str:
        """Return it as JSON, which people read with redis-cli as well."""
        at = self.at.astimezone(UTC).isoformat(timespec="milliseconds") if self.at else None
        return json.dumps({"task_id": self.task_id, "attempt": self.attempt, "at": at})


_DECODER = msgspec.json.Decoder(prepared(Message))


def read_message(raw: bytes) -> Message | None:
    """Read a message; None for what is none."""
    try:
        return _DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


@dataclass(frozen=True)
class Entry:
    """A message that a worker has taken: `place` says where it lies until it is acknowledged.

    `message` is None for what is no message.
    """

    lane: Lane
    raw: bytes
    place: str

    @cached_property
    def message(self) -> Message | None:
        return read_message(self.raw)

    @property
    def task_id(self) -> int | None:
        message = self.message
        return message.task_id if message else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneLength:
    """How many entries of a lane wait, and have been taken; since when the oldest waiting one lies there."""

    lane: Lane
    waiting: int
    taken: int
    oldest: datetime | None = None


def by_role(lanes: Iterable[Lane]) -> Iterator[Sequence[Lane]]:
    """Group lanes by role, high ones first: the keys of one group are in one slot of a cluster."""
    for _, group in groupby(sorted(lanes, key=attrgetter("role", "band")), attrgetter("role")):
        yield tuple(group)
