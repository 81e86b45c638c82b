"""`app.conf`: the settings of a Celery app. They are supported, ignored or rejected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from rolecall.model.errors import InvalidDeclaration

DEFAULTS: Mapping[str, Any] = {
    "broker_url": None,
    "enable_utc": True,
    "imports": (),
    "include": (),
    "result_backend": None,
    "result_expires": None,
    "task_acks_late": None,
    "task_create_missing_queues": True,
    "task_default_priority": None,
    "task_default_queue": "celery",
    "task_ignore_result": False,
    "task_queues": (),
    "task_routes": None,
    "task_time_limit": None,
    "timezone": None,
}
TESTING = "in tests, run enqueued tasks with rolecall.testing.inline(app.rolecall, connection): docs/guides/testing.md"
JSON = "payloads and results are JSON: pass ids, strings and numbers"
REFUSED: Mapping[str, str] = {
    "result_chord_join_timeout": "the step after a group waits without a limit",
    "task_acks_on_failure_or_timeout": "failed tasks are kept: retry them with `rolecall tasks retry`",
    "task_always_eager": TESTING,
    "task_annotations": "set the options where the task is declared; a rate_limit has no equivalent there",
    "task_default_rate_limit": "there are no rate limits: the capacity of a key limits concurrency",
    "task_soft_time_limit": "threads cannot be interrupted: use task_time_limit, and call self.context.check() "
    "between steps",
}
OLD: Mapping[str, str] = {
    "acks_late": "task_acks_late",
    "always_eager": "task_always_eager",
    "celerybeat_schedule": "beat_schedule",
    "celeryd_task_time_limit": "task_time_limit",
    "default_queue": "task_default_queue",
    "ignore_result": "task_ignore_result",
    "queues": "task_queues",
    "routes": "task_routes",
    "task_result_expires": "result_expires",
}
# Only their default is accepted: Rolecall always behaves that way.
REFUSED_WHEN_OFF = frozenset({"task_acks_on_failure_or_timeout"})
MUST_BE: Mapping[str, tuple[frozenset[Any], str]] = {
    "task_serializer": (frozenset({"json"}), JSON),
    "result_serializer": (frozenset({"json"}), JSON),
}


class Configuration(MutableMapping[str, Any]):
    """Settings, as items or attributes. A setting without an equivalent is rejected.

    Old names in capitals and names with the prefix `CELERY_` are translated. Unknown settings are stored and ignored:
    those of brokers, of worker processes, and your own.
    """

    def __init__(self) -> None:
        object.__setattr__(self, "_values", {**DEFAULTS, "beat_schedule": {}})

    def __getattr__(self, name: str) -> Any:
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(f"the setting {name} is not set") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __getitem__(self, name: str) -> Any:
        return self._values[todays_name(name)]

    def __setitem__(self, name: str, value: Any) -> None:
        known = todays_name(name)
        if known in REFUSED and bool(value) != (known in REFUSED_WHEN_OFF):
            raise InvalidDeclaration(f"{name} has no equivalent: {REFUSED[known]}")
        allowed, why = MUST_BE.get(known, (None, ""))
        if allowed is not None and value not in allowed:
            raise InvalidDeclaration(f"{name} is {value!r}, and only {', '.join(sorted(allowed))} works: {why}")
        self._values[known] = value

    def __delitem__(self, name: str) -> None:
        del self._values[todays_name(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def zone_name(self) -> str:
        """The IANA name of the crontabs' time zone. Datetimes without a time zone are in UTC, as in Celery."""
        return str(self._values["timezone"] or "UTC")

    @property
    def urgent_is_low(self) -> bool:
        """Whether 0 is the highest priority, as with Redis. With RabbitMQ, it is the lowest."""
        return str(self._values["broker_url"] or "").startswith(("redis", "sentinel"))


def todays_name(name: str) -> str:
    """Return the current name of a setting: `CELERY_TIMEZONE` becomes `timezone`."""
    if name.isupper():
        name = name.lower().removeprefix("celery_")
    return OLD.get(name, name)
