"""A worker as it introduces itself to the roll call; where it works, what it says and what it is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from rolecall.model.errors import ConfigError

__all__ = [
    "MOST_PREFETCH",
    "MOST_SLOTS",
    "BeatAnswer",
    "Condition",
    "Neighbour",
    "ProcessIdentity",
    "WorkerCommand",
    "WorkerInfo",
    "Workplace",
    "require_slots_of_roles",
]

# Of one process.
MOST_SLOTS = 1_000
MOST_PREFETCH = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerInfo:
    """Who a worker process is and what it can do; no roles means every role."""

    name: str
    roles: tuple[str, ...]
    handlers: tuple[str, ...]
    slots: int
    host: str
    pid: int
    version: str
    pod: str | None = None
    node: str | None = None
    intakes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process that no other one is ever taken for: `space` is where its pid means something (one boot of a machine,
    one pid namespace), `started` when it began there, in ticks of the kernel.
    """

    space: str
    pid: int
    started: int


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A worker of the same machine, and its process."""

    worker_id: int
    pid: int
    started: int


@dataclass(frozen=True, slots=True)
class DutyLook:
    """How it stands with the duties of the pool: which are due, and in how many seconds the next of the others is.

    `did_last`: whether whoever asks did the last one. `workers` are those on the roll, 20 at most;
    `latest_worker` is the highest id there.
    """

    due: list[str]
    next_in: float | None
    did_last: bool
    workers: int
    latest_worker: int | None


class WorkerCommand(StrEnum):
    """What a worker may be told: take no more tasks; or that, and leave for good once what it holds has ended."""

    DRAIN = "drain"
    DECOMMISSION = "decommission"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """How a worker is: shares of the processors and the memory that it may use, its own clock (seconds since 1970),
    why it takes no new tasks for now, and the command that it has heard of.
    """

    cpu: float | None = None
    memory: float | None = None
    memory_bytes: int | None = None
    clock: float | None = None
    backing_off: str | None = None
    following: WorkerCommand | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BeatAnswer:
    """Whether the roll knows a worker, and what it is told to do."""

    known: bool
    command: WorkerCommand | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """What a lifespan may ask for: the worker's database, which `dsn` reaches (with its password), and its roles.

    No roles means every role.
    """

    dsn: str = field(repr=False)
    roles: tuple[str, ...] = ()

    def serves_any(self, *roles: str) -> bool:
        """Whether a task of one of these roles may come here."""
        return not self.roles or not set(self.roles).isdisjoint(roles)


def require_slots_of_roles(slots: Mapping[str, int], roles: Sequence[str], *, variable: str) -> None:
    """Raise ConfigError unless each role that is served has slots, and each that has slots is served."""
    for role, number in slots.items():
        if number < 1:
            raise ConfigError(f"the role {role} has {number} slots: at least 1", variable=variable, value=dict(slots))
    if not roles:
        return
    if lacking := ", ".join(role for role in roles if role not in slots):
        raise ConfigError(f"no slots are named for the role {lacking}", variable=variable, value=dict(slots))
    if unserved := ", ".join(role for role in slots if role not in roles):
        raise ConfigError(f"this worker does not serve the role {unserved}", variable=variable, value=dict(slots))
