"""The options that stand for settings: each flag's text goes where its environment variable's would go."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import Parameter
from typing import Annotated

from typer import Option

from rolecall.config import FLAGS

DATABASE = (
    ("DATABASE_URL", "URL", "Work on this Postgres. With a password better by the variable, or in a file."),
    ("DATABASE_URL_FILE", "FILE", "The same, in a file."),
    ("ROLECALL_DATA_DIR", "DIR", "Without one: on the embedded one under DIR, default ./rolecall-data."),
)
LOGGING = (
    ("ROLECALL_LOG", "FORMAT", "Log lines as text or json, to stderr."),
    ("ROLECALL_LOG_LEVEL", "LEVEL", "debug, info, warning or error."),
    ("ROLECALL_LOG_TRACEBACKS", "yes|no", "Whether lines about failed tasks bring their tracebacks; as json they do."),
)
WORKING = (
    ("WORKER_ROLE", "A,B", "The roles to serve; by default every role."),
    ("WORKER_ID", "NAME", "What people call this worker; by default made from its role."),
    (
        "WORKER_SLOTS",
        "N|A:N,B:M",
        "How many tasks to run at once, default 1; or of each role: analytics:4,import:2.",
    ),
    ("WORKER_GRACE_S", "SECONDS", "How long running tasks may go on after SIGTERM, default 25."),
    (
        "MEMORY_BACKOFF_THRESHOLD",
        "SHARE",
        "Take no new tasks above this share of the memory, such as 0.85; else never.",
    ),
    (
        "CPU_BACKOFF_THRESHOLD",
        "SHARE",
        "Take no new tasks above this share of the processors, such as 0.90; else never.",
    ),
    ("BACKOFF_DURATION_MS", "MS", "For how long after that, default 10000."),
    ("POLL_INTERVAL_MS", "MS", "How often to look for tasks unasked, default 5000."),
    ("HEARTBEAT_INTERVAL_MS", "MS", "How often to say that this worker lives, default 30000."),
)
NOTIFYING = (
    (
        "ROLECALL_NOTIFICATIONS",
        "HOW",
        "How workers hear of work: postgres (default), poll, in-process, redis://host:6379 or nats://host:4222.",
    ),
)
METRICS = (
    (
        "ROLECALL_METRICS",
        "HOST:PORT",
        "Where a worker answers Prometheus, such as 127.0.0.1:9100; of several, each at the next port.",
    ),
)
HTTP = (("ROLECALL_HTTP", "HOST:PORT", "Where the API listens, or off; default 127.0.0.1:8321, or any free port."),)

ACCESS = (
    ("ROLECALL_AUTH", "keys|token|off", "Who comes in over HTTP; token and off are for this machine alone."),
    ("ROLECALL_TRUSTED_ORIGINS", "A,B", "Whose pages may ask for changes too, as https://work.example."),
)


def settings_options(rows: Iterable[tuple[str, str, str]]) -> list[Parameter]:
    """One keyword parameter a row, named as its variable, as typer reads them from a signature."""
    return [_option(variable, metavar, meaning) for variable, metavar, meaning in rows]


def json_option() -> Parameter:
    """`--json`, under the name as_json."""
    annotation = Annotated[bool, Option("--json", help="Write one JSON document to stdout.")]
    return Parameter("as_json", Parameter.KEYWORD_ONLY, default=False, annotation=annotation)


def _option(variable: str, metavar: str, meaning: str) -> Parameter:
    text = f"{meaning} [{variable}]"
    option = Option(FLAGS[variable], metavar=metavar, help=text, rich_help_panel="Settings")
    return Parameter(variable, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, option])
