"""Workers: their registration, their condition, and the commands for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from rolecall.model.errors import ConfigError

# Per process.
MOST_SLOTS = 1_000
MOST_PREFETCH = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerInfo:
    """A worker's process and its capabilities; no roles means all roles."""

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
    """The unique identity of a process: `space` is the scope of its pid (one boot of a machine and one pid
    namespace), and `started` its start time there, in kernel ticks.
    """

    space: str
    pid: int
    started: int


@dataclass(frozen=True, slots=True)
class ContestedDeclaration:
    """A schedule, key, role or handler that running apps declare with different settings, or a name of two apps."""

    kind: str
    name: str
    apps: tuple[str, ...]

    @property
    def problem(self) -> str:
        """The problem as a sentence."""
        if self.kind == "app":
            return f"two running apps without a common handler are called {self.name!r}"
        return f"the apps {', '.join(self.apps)} declare the {self.kind} {self.name!r} differently"

    @property
    def advice(self) -> str:
        """The advice for the operator."""
        if self.kind == "app":
            return "give them different names, because a stop of one disables its schedules"
        return "use names with a prefix, or a database for each app"


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another worker on the same machine, and its process."""

    worker_id: int
    pid: int
    started: int


@dataclass(frozen=True, slots=True)
class DutyStatus:
    """The state of the maintenance duties: which are due, and in how many seconds the next of the others is.

    `did_last` is true if this process ran the last one. `workers` counts the registered workers, up to 20;
    `latest_worker` is the highest id among them. `server_time` is the server's clock in seconds since 1970, and
    `clock_steps` counts how often a process has reported that it was set.
    """

    due: list[str]
    next_in: float | None
    did_last: bool
    workers: int
    latest_worker: int | None
    server_time: float
    clock_steps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockStep:
    """The server's clock was set forward by `seconds` (negative: back).

    It read at most `after` before it was set, and at least `before` afterwards. `steps` counts the steps that were
    reported earlier.
    """

    steps: int
    seconds: float
    after: float
    before: float


class WorkerCommand(StrEnum):
    """A command for a worker: claim no more tasks, or do so and exit permanently once its tasks have finished."""

    DRAIN = "drain"
    DECOMMISSION = "decommission"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A worker's condition, as reported with each heartbeat.

    `cpu` and `memory` are shares of its limits, `clock` is its own clock (seconds since 1970), `backing_off` is the
    reason why it claims no tasks for now, and `following` the command that it has received.
    """

    cpu: float | None = None
    memory: float | None = None
    memory_bytes: int | None = None
    clock: float | None = None
    backing_off: str | None = None
    following: WorkerCommand | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatAnswer:
    """The response to a heartbeat: whether the worker is registered, and its command."""

    is_registered: bool
    command: WorkerCommand | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """The worker's database and roles, for a lifespan; `dsn` contains the password.

    No roles means all roles.
    """

    dsn: str = field(repr=False)
    roles: tuple[str, ...] = ()

    def serves_any(self, *roles: str) -> bool:
        """Return whether tasks of one of these roles may come to this worker."""
        return not self.roles or not set(self.roles).isdisjoint(roles)


def require_slots_of_roles(slots: Mapping[str, int], roles: Sequence[str], *, variable: str) -> None:
    """Raise ConfigError unless each served role has at least one slot and each role with slots is served."""
    for role, number in slots.items():
        if number < 1:
            raise ConfigError(
                f"the role {role} must have at least 1 slot, got {number}", variable=variable, value=dict(slots)
            )
    if not roles:
        return
    if lacking := ", ".join(role for role in roles if role not in slots):
        raise ConfigError(f"no slots are set for the role {lacking}", variable=variable, value=dict(slots))
    if unserved := ", ".join(role for role in slots if role not in roles):
        raise ConfigError(f"this worker does not serve the role {unserved}", variable=variable, value=dict(slots))
