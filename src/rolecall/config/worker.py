"""Settings of a worker: its roles, its slots and its environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rolecall.config.parsing import address, decimal, integer, milliseconds, name, roles, slots, task_logs, yes_or_no
from rolecall.config.setting import Setting, Source
from rolecall.model.operator.logs import LogLevel
from rolecall.model.workers import MOST_PREFETCH, require_slots_of_roles

DAY_S = 86_400

ROLES = Setting(
    name="ROLECALL_ROLES",
    aliases=("WORKER_ROLE",),
    flag="--roles",
    form="A,B",
    parse=roles,
    meaning="The roles to serve; by default all.",
)
WORKER_ID = Setting(
    name="ROLECALL_WORKER_ID",
    aliases=("WORKER_ID",),
    flag="--worker-id",
    form="NAME",
    parse=name,
    meaning="The name of this worker; by default made from its role.",
)
SLOTS = Setting(
    name="ROLECALL_SLOTS",
    aliases=("WORKER_SLOTS", "MAX_CONCURRENT_TASKS"),
    flag="--slots",
    form="N|A:N,B:M",
    default="1",
    parse=slots,
    meaning="The number of slots, or of slots per role: analytics:4,import:2.",
)
PREFETCH = Setting(
    name="ROLECALL_PREFETCH",
    flag="--prefetch",
    form="N",
    default="1000",
    parse=integer(0, MOST_PREFETCH),
    meaning="The most tasks to prefetch beyond the free slots, and the longest sequence of a key; 0 = none.",
)
GRACE = Setting(
    name="ROLECALL_GRACE",
    aliases=("WORKER_GRACE_S",),
    flag="--grace",
    form="SECONDS",
    default="25",
    parse=decimal(0, DAY_S),
    meaning="How long running tasks may continue after SIGTERM.",
)
STOP_WHEN_CUT_OFF = Setting(
    name="ROLECALL_STOP_WHEN_CUT_OFF",
    flag="--stop-when-cut-off",
    form="yes|no",
    default="no",
    parse=yes_or_no,
    meaning="Abort running tasks while the database is unreachable, before another worker can start them.",
)
TASK_LOGS = Setting(
    name="ROLECALL_TASK_LOGS",
    flag="--task-logs",
    form="LEVEL",
    default="info",
    parse=task_logs,
    meaning="The lowest level of log lines that are stored with their tasks: debug, info, warning, error, or off.",
)
MEMORY_BACKOFF = Setting(
    name="ROLECALL_MEMORY_BACKOFF_THRESHOLD",
    aliases=("MEMORY_BACKOFF_THRESHOLD",),
    flag="--memory-backoff-threshold",
    form="SHARE",
    parse=decimal(0.01, 1),
    meaning="Claim no new tasks above this share of the memory, such as 0.85.",
)
CPU_BACKOFF = Setting(
    name="ROLECALL_CPU_BACKOFF_THRESHOLD",
    aliases=("CPU_BACKOFF_THRESHOLD",),
    flag="--cpu-backoff-threshold",
    form="SHARE",
    parse=decimal(0.01, 1),
    meaning="Claim no new tasks above this share of the CPU, such as 0.90.",
)
BACKOFF_DURATION = Setting(
    name="ROLECALL_BACKOFF_DURATION_MS",
    aliases=("BACKOFF_DURATION_MS",),
    flag="--backoff-duration-ms",
    form="MS",
    default="10000",
    parse=milliseconds(10),
    meaning="How long a back-off lasts.",
)
POLL_INTERVAL = Setting(
    name="ROLECALL_POLL_INTERVAL_MS",
    aliases=("POLL_INTERVAL_MS",),
    flag="--poll-interval-ms",
    form="MS",
    default="5000",
    parse=milliseconds(10),
    meaning="How often to poll for tasks without a notification.",
)
HEARTBEAT_INTERVAL = Setting(
    name="ROLECALL_HEARTBEAT_INTERVAL_MS",
    aliases=("HEARTBEAT_INTERVAL_MS",),
    flag="--heartbeat-interval-ms",
    form="MS",
    default="30000",
    parse=milliseconds(100, 30_000),
    meaning="How often to send a heartbeat, at most every 30 s: a worker without one for a minute counts as silent.",
)
HEARTBEAT_INTERVAL_SECONDS = Setting(
    name="HEARTBEAT_INTERVAL_SECONDS",
    form="SECONDS",
    parse=decimal(0.1, 30.0),
    meaning="The same in seconds, under another system's name. The previous variable takes precedence.",
)
METRICS = Setting(
    name="ROLECALL_METRICS",
    flag="--metrics",
    form="HOST:PORT",
    parse=address,
    meaning="The address of the Prometheus endpoint, such as 127.0.0.1:9100. Each further worker uses the next port.",
)
HEALTH = Setting(
    name="ROLECALL_HEALTH",
    flag="--health",
    form="HOST:PORT",
    parse=address,
    meaning="The address of the probes /healthz and /readyz. Each further worker uses the next port.",
)
HEALTH_FILE = Setting(
    name="ROLECALL_HEALTH_FILE",
    flag="--health-file",
    form="FILE",
    parse=Path,
    meaning="A file touched every five seconds while the worker is alive. Several workers use FILE.1, FILE.2 etc.",
)
POD = Setting(
    name="ROLECALL_POD_NAME",
    aliases=("POD_NAME",),
    form="NAME",
    parse=name,
    meaning="The worker's pod, for the worker registry; in a cluster by default the host name.",
)
NODE = Setting(
    name="ROLECALL_NODE_NAME",
    aliases=("NODE_NAME",),
    form="NAME",
    parse=name,
    meaning="The pod's node, for the worker registry.",
)
HOST = Setting(name="HOSTNAME", foreign=True, form="NAME", parse=name, meaning="In a cluster, the name of the pod.")
IN_CLUSTER = Setting(
    name="KUBERNETES_SERVICE_HOST", foreign=True, form="HOST", parse=str, meaning="Set in every pod of a cluster."
)
# Settings shared by all processes of one command.
WORKING = (
    ROLES,
    WORKER_ID,
    SLOTS,
    PREFETCH,
    GRACE,
    STOP_WHEN_CUT_OFF,
    TASK_LOGS,
    MEMORY_BACKOFF,
    CPU_BACKOFF,
    BACKOFF_DURATION,
    POLL_INTERVAL,
    HEARTBEAT_INTERVAL,
)
# Settings that each process needs for itself.
PROBING = (METRICS, HEALTH, HEALTH_FILE)
SETTINGS = (*WORKING, HEARTBEAT_INTERVAL_SECONDS, *PROBING, POD, NODE, HOST, IN_CLUSTER)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """Settings of a worker. Durations are in seconds. No roles means every role, and no threshold no back-off.

    `pod` and `node` are recorded in the worker registry. In Kubernetes, the pod's name is its host name. `metrics` is
    the address of the Prometheus endpoint and `health` that of the probes; `health_file` is an alternative to the
    latter.
    """

    roles: tuple[str, ...] = ()
    name: str | None = None
    slots: int | Mapping[str, int] = 1
    prefetch: int = 1_000
    poll_interval: float = 5.0
    heartbeat_interval: float = 30.0
    grace: float = 25.0
    stop_when_cut_off: bool = False
    task_logs: LogLevel = "info"
    memory_backoff: float | None = None
    cpu_backoff: float | None = None
    backoff_duration: float = 10.0
    pod: str | None = None
    node: str | None = None
    metrics: tuple[str, int] | None = None
    health: tuple[str, int] | None = None
    health_file: Path | None = None


def read_worker_settings(source: Source) -> WorkerSettings:
    """Read the settings of a worker. Raises ConfigError."""
    standard = WorkerSettings()
    in_seconds = source.read(HEARTBEAT_INTERVAL_SECONDS, standard.heartbeat_interval)
    served = source.read(ROLES, standard.roles)
    of_roles = source.read(SLOTS, standard.slots)
    if not isinstance(of_roles, int):
        require_slots_of_roles(of_roles, served, variable=SLOTS.name)
    return WorkerSettings(
        roles=served,
        name=source.read(WORKER_ID, standard.name),
        slots=of_roles,
        prefetch=source.read(PREFETCH, standard.prefetch),
        poll_interval=source.read(POLL_INTERVAL, standard.poll_interval),
        heartbeat_interval=source.read(HEARTBEAT_INTERVAL, in_seconds),
        grace=source.read(GRACE, standard.grace),
        stop_when_cut_off=source.read(STOP_WHEN_CUT_OFF, standard.stop_when_cut_off),
        task_logs=source.read(TASK_LOGS, standard.task_logs),
        memory_backoff=source.read(MEMORY_BACKOFF, standard.memory_backoff),
        cpu_backoff=source.read(CPU_BACKOFF, standard.cpu_backoff),
        backoff_duration=source.read(BACKOFF_DURATION, standard.backoff_duration),
        pod=source.read(POD, _host_in_a_cluster(source)),
        node=source.read(NODE, standard.node),
        metrics=source.read(METRICS, standard.metrics),
        health=source.read(HEALTH, standard.health),
        health_file=source.read(HEALTH_FILE, standard.health_file),
    )


def _host_in_a_cluster(source: Source) -> str | None:
    return source.read(HOST, None) if source.read(IN_CLUSTER, None) else None
