"""Settings as frozen values, read once from flags and the environment; nothing else reads either.

A variable whose name may be somebody else's, too, has another one that is only ours: ROLECALL_WORKER_SLOTS goes before
WORKER_SLOTS. A flag wins over its environment variable, an empty text counts as not given, and a text that does not
fit raises ConfigError, which names what the person wrote: the flag or the variable.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from rolecall.config.brokers import notifications
from rolecall.config.handoff import HandoffKind, HandoffSettings, address_of, port, redis_url
from rolecall.config.parsing import (
    Unfit,
    address,
    addresses,
    decimal,
    dsn,
    dsn_in_file,
    folder,
    kubernetes_name,
    milliseconds,
    name,
    one_of,
    origins,
    path,
    roles,
    slots,
    whole,
    yes_no_or_auto,
    yes_or_no,
)
from rolecall.model.errors import ConfigError
from rolecall.model.scaling import WorkloadKind
from rolecall.model.workers import MOST_SLOTS, require_slots_of_roles

T = TypeVar("T")

DEFAULT_DATA_DIR = Path("rolecall-data")
USUAL_STATE = Path("~/.local/state")
TOKEN_FILE = "local-token"  # noqa: S105 - a name, not a secret
MOST_REPLICAS = 10_000
HOUR_S = 3_600
DAY_S = 86_400
MOST_SESSION_MINUTES = 43_200
LOOPBACK = "127.0.0.1"

# What others sign tokens with; our sessions are rows.
SIGNING = ("SECRET_KEY", "ALGORITHM")

OURS = "ROLECALL_"
# Set by others, for everybody.
COMMON = frozenset({"HOSTNAME", "KUBECONFIG", "KUBERNETES_SERVICE_HOST"})
FLAGS = {
    "DATABASE_URL": "--database-url",
    "DATABASE_URL_FILE": "--database-url-file",
    "ROLECALL_DATA_DIR": "--data-dir",
    "ROLECALL_LOG": "--log",
    "ROLECALL_LOG_LEVEL": "--log-level",
    "ROLECALL_LOG_TRACEBACKS": "--log-tracebacks",
    "WORKER_ROLE": "--roles",
    "WORKER_ID": "--worker-id",
    "WORKER_SLOTS": "--slots",
    "WORKER_GRACE_S": "--grace",
    "MEMORY_BACKOFF_THRESHOLD": "--memory-backoff-threshold",
    "CPU_BACKOFF_THRESHOLD": "--cpu-backoff-threshold",
    "BACKOFF_DURATION_MS": "--backoff-duration-ms",
    "POLL_INTERVAL_MS": "--poll-interval-ms",
    "HEARTBEAT_INTERVAL_MS": "--heartbeat-interval-ms",
    "ROLECALL_NOTIFICATIONS": "--notifications",
    "ROLECALL_HTTP": "--http",
    "ROLECALL_METRICS": "--metrics",
    "ROLECALL_AUTH": "--auth",
    "ROLECALL_TRUSTED_ORIGINS": "--trusted-origins",
}


class LogFormat(StrEnum):
    """How a log line looks."""

    text = "text"
    json = "json"


class LogLevel(StrEnum):
    """The least level that is written."""

    debug = "debug"
    info = "info"
    warning = "warning"
    error = "error"


class AuthMode(StrEnum):
    """Who comes in: by API key or login; on this machine by its token too; or everybody on this machine."""

    keys = "keys"
    token = "token"  # noqa: S105 - a word, not a secret
    off = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseSettings:
    """Which Postgres: `url` when given, else the embedded server under `data_dir`.

    `pooled`: whether a pooler in transaction mode stands before it, None finds out; `listen_url` is then the direct
    way, for notifications only. `standby_url` is a copy of it that answers what the API and its pages only ask.
    """

    url: str | None = None
    data_dir: Path = DEFAULT_DATA_DIR
    pooled: bool | None = None
    listen_url: str | None = None
    standby_url: str | None = None

    @property
    def embedded(self) -> bool:
        return self.url is None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """What is logged, and how it looks; `tracebacks` has those of failed tasks in text, too: JSON always has them."""

    format: LogFormat = LogFormat.text
    level: LogLevel = LogLevel.info
    tracebacks: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """What a worker serves and how; durations in seconds, no roles = every role, no threshold = no back-off.

    `pod` and `node` say where it runs, for the roll: the pod's name is its host name, wherever Kubernetes runs it.
    `metrics` is the address at which it answers Prometheus.
    """

    roles: tuple[str, ...] = ()
    name: str | None = None
    slots: int | Mapping[str, int] = 1
    poll_interval: float = 5.0
    heartbeat_interval: float = 30.0
    grace: float = 25.0
    memory_backoff: float | None = None
    cpu_backoff: float | None = None
    backoff_duration: float = 10.0
    pod: str | None = None
    node: str | None = None
    metrics: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """Whether and where the API listens; without a port at the usual one, or where that is taken at any free one."""

    enabled: bool = True
    host: str = LOOPBACK
    port: int | None = None

    @property
    def asked_for(self) -> bool:
        """True if somebody named the address."""
        return self.port is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingSettings:
    """Which set of pods keeps the workers, and between which numbers it may be scaled.

    The cluster is the one that `kubeconfig` describes, else the one whose pod this process runs in.
    """

    namespace: str = "dispensary-scraper"  # house: the namespace that operators of the first system know
    workload: str = "scraper-worker"
    kind: WorkloadKind = WorkloadKind.STATEFUL_SET
    least: int = 1
    most: int = 20
    kubeconfig: Path | None = None
    in_cluster: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessSettings:
    """Who may come in over HTTP, and how often.

    Without `auth`, by the token where only this machine can reach the server, and by keys and logins elsewhere.
    Requests are counted for each caller, logins for each address. `forwarded_by` names the servers in front of this
    one whose word is taken for where a request came from; `root_path` is what they take off the beginning of each path.
    `token_file` is where this machine's token is kept, `token` what is in it, once somebody has read it. After so many
    failed logins in a row nobody tries again for `lockout` seconds. `ignored` names what was given for the API and is
    not read.
    """

    auth: AuthMode | None = None
    token_file: Path | None = None
    token: str | None = field(default=None, repr=False)
    trusted_origins: frozenset[str] = frozenset()
    requests_per_minute: int = 1_200
    requests_per_hour: int | None = None
    logins_per_minute: int = 20
    failed_logins: int = 10
    lockout: float = 900.0
    session_minutes: int = 720
    session_idle_minutes: int = 120
    forwarded_by: str = ""
    root_path: str = ""
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that can be set from outside; `notifications` is one of a few words, or the address of a broker."""

    database: DatabaseSettings = field(default_factory=DatabaseSettings)
    log: LogSettings = field(default_factory=LogSettings)
    worker: WorkerSettings = field(default_factory=WorkerSettings)
    http: HttpSettings = field(default_factory=HttpSettings)
    scaling: ScalingSettings = field(default_factory=ScalingSettings)
    access: AccessSettings = field(default_factory=AccessSettings)
    notifications: str = field(default="postgres", repr=False)
    handoff: HandoffSettings = field(default_factory=HandoffSettings)


def read_settings(environ: Mapping[str, str] = os.environ, flags: Mapping[str, str | None] | None = None) -> Settings:
    """Read all settings; `flags` holds the given flags under the names of their variables."""
    source = _Source(environ, flags or {})
    database = _database(source)
    return Settings(
        database=database,
        log=_log(source),
        worker=_worker(source),
        http=source.read("ROLECALL_HTTP", _http, HttpSettings()),
        scaling=_scaling(source),
        access=_access(source, database),
        notifications=source.read("ROLECALL_NOTIFICATIONS", notifications, "postgres"),
        handoff=_handoff(source),
    )


def read_database(environ: Mapping[str, str] = os.environ) -> DatabaseSettings:
    """Read which Postgres it is, and nothing else, from the environment."""
    return _database(_Source(environ, {}))


@dataclass(frozen=True, slots=True)
class _Source:
    environ: Mapping[str, str]
    flags: Mapping[str, str | None]

    def read(self, variable: str, parse: Callable[[str], T], default: T) -> T:
        label, text = self._find(variable)
        if not text:
            return default
        try:
            return parse(text)
        except Unfit as unfit:
            shown = text if unfit.shown is None else unfit.shown
            raise ConfigError(f"{shown!r} {unfit.problem}", variable=label, value=shown) from None

    def _find(self, variable: str) -> tuple[str, str]:
        flag = self.flags.get(variable)
        if flag is not None:
            return FLAGS[variable], flag.strip()
        names = (variable,) if variable.startswith(OURS) or variable in COMMON else (OURS + variable, variable)
        return next(((name, text) for name in names if (text := self.environ.get(name, "").strip())), (variable, ""))


def _database(source: _Source) -> DatabaseSettings:
    from_file = source.read("DATABASE_URL_FILE", dsn_in_file, None)
    # A flag wins over a variable, of these two as well.
    names_file = source.flags.get("DATABASE_URL_FILE") is not None and source.flags.get("DATABASE_URL") is None
    return DatabaseSettings(
        url=from_file if names_file else source.read("DATABASE_URL", dsn, from_file),
        data_dir=source.read("ROLECALL_DATA_DIR", folder, DEFAULT_DATA_DIR),
        pooled=source.read("ROLECALL_POOLED", yes_no_or_auto, None),
        listen_url=source.read("ROLECALL_LISTEN_URL", dsn, None),
        standby_url=source.read("ROLECALL_STANDBY_URL", dsn, None),
    )


def _handoff(source: _Source) -> HandoffSettings:
    kind = source.read("ROLECALL_HANDOFF", one_of(HandoffKind), HandoffKind.AUTO)
    url = source.read("ROLECALL_REDIS_URL", redis_url, None)
    password = source.read("REDIS_PASSWORD", str, "")
    low, high = (
        address_of(source.read(f"REDIS_HOST_{band}", str, ""), source.read(f"REDIS_PORT_{band}", port, 6379), password)
        for band in ("LOW", "HIGH")
    )
    return HandoffSettings(low=url or low or high, high=url or high or low, kind=kind)


def _log(source: _Source) -> LogSettings:
    return LogSettings(
        format=source.read("ROLECALL_LOG", one_of(LogFormat), LogFormat.text),
        level=source.read("ROLECALL_LOG_LEVEL", one_of(LogLevel), LogLevel.info),
        tracebacks=source.read("ROLECALL_LOG_TRACEBACKS", yes_or_no, default=False),
    )


def _worker(source: _Source) -> WorkerSettings:
    standard = WorkerSettings()
    in_seconds = source.read("HEARTBEAT_INTERVAL_SECONDS", decimal(0.1, HOUR_S), standard.heartbeat_interval)
    heartbeat = source.read("HEARTBEAT_INTERVAL_MS", milliseconds(100), in_seconds)
    served = source.read("WORKER_ROLE", roles, standard.roles)
    of_roles = source.read("WORKER_SLOTS", slots, _slots_by_other_name(source, standard))
    if not isinstance(of_roles, int):
        require_slots_of_roles(of_roles, served, variable="WORKER_SLOTS")
    return WorkerSettings(
        roles=served,
        name=source.read("WORKER_ID", name, standard.name),
        slots=of_roles,
        poll_interval=source.read("POLL_INTERVAL_MS", milliseconds(10), standard.poll_interval),
        heartbeat_interval=heartbeat,
        grace=source.read("WORKER_GRACE_S", decimal(0, DAY_S), standard.grace),
        memory_backoff=source.read("MEMORY_BACKOFF_THRESHOLD", decimal(0.01, 1), standard.memory_backoff),
        cpu_backoff=source.read("CPU_BACKOFF_THRESHOLD", decimal(0.01, 1), standard.cpu_backoff),
        backoff_duration=source.read("BACKOFF_DURATION_MS", milliseconds(10), standard.backoff_duration),
        pod=source.read("POD_NAME", name, _host_in_a_cluster(source)),
        node=source.read("NODE_NAME", name, None),
        metrics=source.read("ROLECALL_METRICS", address, None),
    )


def _scaling(source: _Source) -> ScalingSettings:
    standard = ScalingSettings()
    least = source.read("K8S_MIN_REPLICAS", whole(0, MOST_REPLICAS), standard.least)
    return ScalingSettings(
        namespace=source.read("K8S_NAMESPACE", kubernetes_name, standard.namespace),
        workload=source.read("K8S_WORKER_STATEFULSET", kubernetes_name, standard.workload),
        kind=source.read("K8S_WORKER_KIND", one_of(WorkloadKind), standard.kind),
        least=least,
        most=source.read("K8S_MAX_REPLICAS", whole(least, MOST_REPLICAS), max(least, standard.most)),
        kubeconfig=source.read("KUBECONFIG", Path, None),
        in_cluster=source.read("KUBERNETES_SERVICE_HOST", bool, default=False),
    )


def _slots_by_other_name(source: _Source, standard: WorkerSettings) -> int | Mapping[str, int]:
    return source.read("MAX_CONCURRENT_TASKS", whole(1, MOST_SLOTS), standard.slots)


def _host_in_a_cluster(source: _Source) -> str | None:
    in_a_cluster = source.read("KUBERNETES_SERVICE_HOST", name, None)
    return source.read("HOSTNAME", name, None) if in_a_cluster else None


def _access(source: _Source, database: DatabaseSettings) -> AccessSettings:
    standard = AccessSettings()
    most = whole(1, 1_000_000)
    minutes = whole(1, MOST_SESSION_MINUTES)
    an_hour = source.read("RATE_LIMIT_PER_HOUR", most, None)
    return AccessSettings(
        auth=source.read("ROLECALL_AUTH", one_of(AuthMode), None),
        token_file=source.read("ROLECALL_TOKEN_FILE", Path, _usual_token_file(source, database)),
        trusted_origins=source.read("ROLECALL_TRUSTED_ORIGINS", origins, standard.trusted_origins),
        requests_per_minute=source.read("ROLECALL_REQUESTS_PER_MINUTE", most, standard.requests_per_minute),
        requests_per_hour=source.read("USER_RATE_LIMIT_PER_HOUR", most, an_hour),
        logins_per_minute=source.read("ROLECALL_LOGINS_PER_MINUTE", most, standard.logins_per_minute),
        failed_logins=source.read("MAX_FAILED_ATTEMPTS", whole(1, 1_000), standard.failed_logins),
        lockout=source.read("LOCKOUT_DURATION_SECONDS", decimal(1, DAY_S), standard.lockout),
        session_minutes=source.read(
            "ROLECALL_SESSION_MINUTES",
            minutes,
            source.read("ACCESS_TOKEN_EXPIRE_MINUTES", minutes, standard.session_minutes),
        ),
        session_idle_minutes=source.read("ROLECALL_SESSION_IDLE_MINUTES", minutes, standard.session_idle_minutes),
        forwarded_by=source.read("ROLECALL_FORWARDED_BY", addresses, standard.forwarded_by),
        root_path=source.read("ROLECALL_ROOT_PATH", path, standard.root_path),
        ignored=tuple(name for name in SIGNING if source.read(name, bool, default=False)),
    )


def _usual_token_file(source: _Source, database: DatabaseSettings) -> Path:
    state = source.read("XDG_STATE_HOME", Path, USUAL_STATE) / "rolecall"
    return (database.data_dir if database.embedded else state) / TOKEN_FILE


def _http(text: str) -> HttpSettings:
    if text.lower() == "off":
        return HttpSettings(enabled=False)
    try:
        host, port = address(text)
    except Unfit:
        raise Unfit("is neither off nor an address such as 127.0.0.1:8321") from None
    return HttpSettings(host=host, port=port)
