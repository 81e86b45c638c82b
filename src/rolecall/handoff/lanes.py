"""The keys in Redis and the messages.

All keys of a role have its name as their hash tag, so that a cluster stores them together and one script can access
them.
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

from rolecall.sql.statement import compiled

# Published with a role's name when one of its lanes is half empty.
REFILL = "rolecall:refill"


class Band(StrEnum):
    """The two lanes of a role: high for priorities above 0, which are taken first."""

    HIGH = "high"
    LOW = "low"


@dataclass(frozen=True, slots=True, order=True)
class Lane:
    """The dispatched tasks of one role and band."""

    band: Band
    role: str

    def key(self, what: str = "") -> str:
        """Return a key of the lane. Without `what`, that of the list itself."""
        return f"rolecall:{{{self.role}}}:{self.band}{':' if what else ''}{what}"


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A dispatched task: its id, its next attempt, and when it was dispatched."""

    task_id: int
    attempt: int = 1
    at: datetime | None = None

    def encode(self) -> str:
        """Encode the message as JSON, which is readable in redis-cli."""
        at = self.at.astimezone(UTC).isoformat(timespec="milliseconds") if self.at else None
        return json.dumps({"task_id": self.task_id, "attempt": self.attempt, "at": at})


_DECODER = msgspec.json.Decoder(compiled(Message))


def read_message(raw: bytes) -> Message | None:
    """Decode a message. Returns None if it is invalid."""
    try:
        return _DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


@dataclass(frozen=True)
class Entry:
    """A message taken by a worker. `place` is its location until it is acknowledged.

    `message` is None if it is invalid.
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
    """The number of waiting and taken entries of a lane, and when the oldest waiting one was pushed."""

    lane: Lane
    waiting: int
    taken: int
    oldest: datetime | None = None


def by_role(lanes: Iterable[Lane]) -> Iterator[Sequence[Lane]]:
    """Group lanes by role, high ones first. The keys of a group are in one cluster slot."""
    for _, group in groupby(sorted(lanes, key=attrgetter("role", "band")), attrgetter("role")):
        yield tuple(group)
