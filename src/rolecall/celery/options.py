"""The options of Celery's declarations and calls. They are translated, ignored or rejected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from rolecall.celery.configuration import JSON, Configuration
from rolecall.model.durations import in_seconds
from rolecall.model.errors import InvalidDeclaration, InvalidTask
from rolecall.model.retry import RetryPolicy, immediate, no_retry

NO_RATE = (
    "there are no rate limits: `key=` with app.keys(capacity=...) limits concurrency, and a throttle "
    "(docs/guides/dedupe.md) drops tasks that are enqueued too often"
)
NO_SOFT_LIMIT = "threads cannot be interrupted: use time_limit, and call self.context.check() between steps"
NO_IDS = "the database assigns ids: use the id of the result, and `dedupe_key=` for uniqueness"
NO_ROUTES = "use queue= alone: a queue is a role here"
REFUSED_OF_A_TASK: Mapping[str, str] = {
    "base": "use a middleware: app.rolecall.use(...)",
    "acks_on_failure_or_timeout": "failed tasks are kept: retry them with `rolecall tasks retry`",
    "pydantic": "annotate the parameters: pydantic models are supported directly",
    "rate_limit": NO_RATE,
    "soft_time_limit": NO_SOFT_LIMIT,
}
REFUSED_OF_A_CALL: Mapping[str, str] = {
    "chord": "write chord(header)(body)",
    "exchange": NO_ROUTES,
    "headers": "pass the values as arguments",
    "ignore_result": "set it where the task is declared",
    "link_error": "enqueue a task that needs this one with Need(task, on_failure='ignore'), and read ctx.needs()",
    "routing_key": NO_ROUTES,
    "soft_time_limit": NO_SOFT_LIMIT,
    "task_id": NO_IDS,
}
# Only their default is accepted: Rolecall always behaves that way.
REFUSED_WHEN_OFF = frozenset({"acks_on_failure_or_timeout"})
# They concern messages, which do not exist here, or describe the behavior of all tasks here.
MOOT_OF_A_TASK = frozenset(
    {"compression", "lazy", "reject_on_worker_lost", "shared", "throws", "track_started", "typing"}
)
MOOT_OF_A_CALL = frozenset({"add_to_parent", "compression", "retry", "retry_policy", "shadow"})
OURS = ("dedupe_key", "key")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredOptions:
    """The options of a task's declaration, with Celery's defaults. Durations are in seconds.

    `max_retries=None` means unlimited. With `acks_late=False`, a task lost with its worker fails instead of running
    again.
    """

    name: str | None = None
    bind: bool = False
    queue: str | None = None
    max_retries: int | None = 3
    default_retry_delay: float = 180.0
    autoretry_for: tuple[type[BaseException], ...] = ()
    dont_autoretry_for: tuple[type[BaseException], ...] = ()
    retry_backoff: bool | float = False
    retry_backoff_max: float = 600.0
    retry_jitter: bool = True
    retry_kwargs: Mapping[str, Any] | None = None
    ignore_result: bool | None = None
    acks_late: bool | None = None
    time_limit: float | None = None
    expires: float | timedelta | datetime | None = None
    priority: int | None = None
    serializer: str | None = None
    key: str | None = None
    dedupe_key: str | None = None

    @property
    def most_retries(self) -> int | None:
        """The highest number of retries, from the declaration or its `retry_kwargs`. None means unlimited.

        A task that is not bound cannot call `self.retry`, so its `retry_kwargs` decide alone.
        """
        retries = (self.retry_kwargs or {}).get("max_retries", self.max_retries)
        if not self.bind:
            return None if retries is None else int(retries)
        if retries is None or self.max_retries is None:
            return None
        return max(int(retries), self.max_retries)

    def attempts(self, *, acks_late: bool | None) -> tuple[int, RetryPolicy]:
        """Return the number of attempts (0 = unlimited), and the policy for an attempt that was lost with its worker.

        `acks_late` is the setting of the app. The importer and the app both use this.
        """
        late = acks_late if self.acks_late is None else self.acks_late
        retries = self.most_retries
        return 0 if retries is None else retries + 1, no_retry() if late is False else immediate()


def parse_declaration(task: str, words: Mapping[str, Any]) -> DeclaredOptions:
    """Parse the options of `@app.task(...)`.

    Raises InvalidDeclaration for an option without an equivalent, TypeError for an unknown option.
    """
    options = {word: value for word, value in words.items() if word not in MOOT_OF_A_TASK}
    for word, value in options.items():
        if word in REFUSED_OF_A_TASK and bool(value) != (word in REFUSED_WHEN_OFF):
            raise InvalidDeclaration(f"task {task!r}: {word}= has no equivalent: {REFUSED_OF_A_TASK[word]}")
        if word not in REFUSED_OF_A_TASK and word not in DeclaredOptions.__dataclass_fields__:
            raise TypeError(f"task {task!r}: {word}= is not an option of a task")
    if options.get("serializer") not in {None, "json"}:
        raise InvalidDeclaration(f"task {task!r}: serializer={options['serializer']!r} has no equivalent: {JSON}")
    options = {word: value for word, value in options.items() if word not in REFUSED_OF_A_TASK}
    for word in ("autoretry_for", "dont_autoretry_for"):
        if word in options:
            options[word] = tuple(options[word])
    return DeclaredOptions(**options)


def options_of_a_call(given: Mapping[str, Any], declaration: DeclaredOptions, conf: Configuration) -> dict[str, Any]:
    """Return the options of a call, including defaults from the task's declaration, as plain values.

    Raises InvalidTask for an option without an equivalent, TypeError for an unknown option.
    """
    priority = conf.task_default_priority if declaration.priority is None else declaration.priority
    options = {"expires": declaration.expires, "priority": priority} | {
        word: value for word, value in given.items() if value is not None and word not in MOOT_OF_A_CALL
    }
    plain: dict[str, Any] = {}
    for word, value in options.items():
        if word in REFUSED_OF_A_CALL:
            raise InvalidTask(f"{word}= has no equivalent: {REFUSED_OF_A_CALL[word]}")
        if value is not None:
            plain |= _plain(word, value, conf)
    if {"after", "scheduled_for"} <= plain.keys():
        del plain["after"]
    expires = plain.get("expires")
    if not isinstance(expires, str | None) and not plain.keys().isdisjoint({"after", "scheduled_for"}):
        # Celery's `expires` is relative to the call, ours to the due time.
        plain["expires"] = (datetime.now(UTC) + timedelta(seconds=expires)).isoformat()
    return plain


def arguments_of_a_task(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain options as arguments of a new task."""
    words = dict(plain)
    for word in ("scheduled_for", "expires"):
        if isinstance(words.get(word), str):
            words[word] = datetime.fromisoformat(words[word])
    return words


def priority_of(priority: int, conf: Configuration) -> int:
    """Convert a priority. A higher number is more urgent here. Raises InvalidTask for an invalid priority."""
    if not 0 <= priority <= 255:  # noqa: PLR2004 - the range of RabbitMQ
        raise InvalidTask(f"priority={priority} is not between 0 and 255")
    ours = -priority if conf.urgent_is_low else priority
    return max(-100, min(100, ours))


def _plain(word: str, value: Any, conf: Configuration) -> dict[str, Any]:
    match word:
        case "countdown":
            return {"after": in_seconds(value)}
        case "eta":
            return {"scheduled_for": _moment(value)}
        case "expires":
            return {"expires": _moment(value) if isinstance(value, datetime) else in_seconds(value)}
        case "priority":
            return {"priority": priority_of(value, conf)}
        case "queue":
            return {"role": str(getattr(value, "name", value))}
        case "time_limit":
            return {"timeout": value}
        case "serializer":
            if value != "json":
                raise InvalidTask(f"serializer={value!r} has no equivalent: {JSON}")
            return {}
        case _ if word in OURS:
            return {word: value}
        case _:
            raise TypeError(f"{word}= is not an option of a call; the options are {', '.join(call_options())}")


def _moment(value: datetime) -> str:
    """Format a datetime. Without a time zone, it is in UTC, as in Celery."""
    return (value if value.tzinfo is not None else value.replace(tzinfo=UTC)).isoformat()


def call_options() -> list[str]:
    """Return the options of `apply_async`."""
    words = ("connection", "countdown", "eta", "expires", "link", "priority", "queue", "serializer", "time_limit")
    return sorted((*words, *OURS))
