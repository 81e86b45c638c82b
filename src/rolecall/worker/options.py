"""The settings of a worker: one frozen value, checked when it is built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rolecall.config import Settings
from rolecall.config.handoff import HandoffSettings
from rolecall.model.errors import ConfigError
from rolecall.model.workers import MOST_PREFETCH, MOST_SLOTS, require_slots_of_roles
from rolecall.wake.choice import POSTGRES, require_named
from rolecall.wake.transport import Transport


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """How one worker process works; all durations are seconds.

    `roles`: empty = every role. `slots`: how many tasks run at once, of all roles together; or of each role by its name
    (`{"analytics": 4, "import": 2}`), so that none takes a slot of another: these are the roles then, and each has an
    entry of its own on the roll. `until_idle`: end when nothing is left to do, as `rolecall.worker.idleness` says.
    `prefetch`: the most tasks to claim beyond the free slots. With 0, at most as many tasks of a key are claimed as may
    run at once. `name`: how people call this worker; by default made from its role. `notifications`: what notifies it
    of work: `postgres`, `poll`, `in-process`, the address of a broker, or a transport; `listen=False`: poll.
    `grace`: how long running handlers may go on after a stop. `abort_grace`: how long an aborted handler may
    take to end before its task is reported without it. `call_deadline`: the longest wait for one answer of
    the database. `pooled`: whether the DSN leads to a pooler in transaction mode, so that nothing may be
    prepared or set on a connection; None finds out. `listen_dsn` is then the direct way, for notifications
    only; without one, a worker behind a pooler polls. `stop_when_cut_off`: abort handlers (reason `database`)
    while the database does not answer, `abort_grace` seconds (at most a quarter of the lease) before their
    leases end, so that they have stopped when another worker may begin their tasks. Without it they go on:
    a short outage costs nothing, but a worker that is cut off alone for longer than a lease runs its
    handlers while the next attempts run elsewhere. `memory_backoff`,
    `cpu_backoff`: the share of what the container (else the machine) has, from which on nothing more is
    claimed while a task runs, until `backoff_duration` seconds after it was last exceeded; None = never.
    `pod`, `node`: where the process runs, for the roll.
    """

    roles: tuple[str, ...] = ()
    slots: int | Mapping[str, int] = 1
    prefetch: int = 1_000
    name: str | None = None
    poll_interval: float = 5.0
    heartbeat_interval: float = 30.0
    grace: float = 25.0
    abort_grace: float = 5.0
    call_deadline: float = 15.0
    handoff: HandoffSettings = field(default_factory=HandoffSettings)
    listen: bool = True
    notifications: str | Transport = field(default=POSTGRES, repr=False)
    maintenance: bool = True
    pooled: bool | None = None
    listen_dsn: str | None = None
    stop_when_cut_off: bool = False
    memory_backoff: float | None = None
    cpu_backoff: float | None = None
    backoff_duration: float = 10.0
    pod: str | None = None
    node: str | None = None
    until_idle: bool = False

    @property
    def may_hear(self) -> bool:
        """Whether it is worth listening to Postgres: through a pooler none comes."""
        return self.listen and (self.listen_dsn is not None or not self.pooled)

    @property
    def served(self) -> tuple[str, ...]:
        """The roles by name; none means every role."""
        return tuple(self.roles) or (() if isinstance(self.slots, int) else tuple(self.slots))

    @property
    def slot_count(self) -> int:
        """How many slots there are in all."""
        return self.slots if isinstance(self.slots, int) else sum(self.slots.values())

    def by_role(self) -> list[WorkerOptions]:
        """The options of each part that claims for itself: one for each role that has slots of its own."""
        if isinstance(self.slots, int):
            return [self]
        return [
            replace(
                self,
                roles=(role,),
                slots=slots,
                name=f"{self.name}/{role}" if self.name else None,
                maintenance=self.maintenance and number == 0,
            )
            for number, (role, slots) in enumerate(self.slots.items())
        ]

    def __post_init__(self) -> None:
        if not isinstance(self.slots, int):
            require_slots_of_roles(self.slots, self.roles, variable="slots")
        _between("slots", self.slot_count, 1, MOST_SLOTS)
        _between("prefetch", self.prefetch, 0, MOST_PREFETCH)
        for name in ("poll_interval", "heartbeat_interval", "abort_grace", "call_deadline"):
            _between(name, getattr(self, name), 0.01, 86_400)
        _between("grace", self.grace, 0, 86_400)
        require_named(self.notifications)
        _between("backoff_duration", self.backoff_duration, 0.01, 86_400)
        for name in ("memory_backoff", "cpu_backoff"):
            share = getattr(self, name)
            _between(name, 1 if share is None else share, 0.01, 1)


def worker_options(all_settings: Settings) -> WorkerOptions:
    """The worker's options as the settings say."""
    settings = all_settings.worker
    return WorkerOptions(
        roles=settings.roles,
        name=settings.name,
        slots=settings.slots,
        prefetch=settings.prefetch,
        poll_interval=settings.poll_interval,
        heartbeat_interval=settings.heartbeat_interval,
        grace=settings.grace,
        stop_when_cut_off=settings.stop_when_cut_off,
        memory_backoff=settings.memory_backoff,
        cpu_backoff=settings.cpu_backoff,
        backoff_duration=settings.backoff_duration,
        pod=settings.pod,
        node=settings.node,
        pooled=all_settings.database.pooled,
        listen_dsn=all_settings.database.listen_url,
        notifications=all_settings.notifications,
        handoff=all_settings.handoff,
    )


def _between(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise ConfigError(f"must be between {least:g} and {most:g}, not {value!r}", variable=name, value=value)
