"""Settings as frozen values, read once from flags and the environment; nothing else reads either.

A flag wins over its environment variable, an empty text counts as not given, and a text that does not
fit raises ConfigError, which names what the person wrote: the flag or the variable.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

import msgspec
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from rolecall.model.errors import ConfigError

T = TypeVar("T")
Choice = TypeVar("Choice", bound=StrEnum)
Number = TypeVar("Number", int, float)

DEFAULT_DATA_DIR = Path("rolecall-data")
ROLE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,62}")
LONGEST_NAME = 100
HOUR_MS = 3_600_000
DAY_S = 86_400

FLAGS = {
    "DATABASE_URL": "--database-url",
    "ROLECALL_DATA_DIR": "--data-dir",
    "ROLECALL_LOG": "--log",
    "ROLECALL_LOG_LEVEL": "--log-level",
    "WORKER_ROLE": "--roles",
    "WORKER_ID": "--worker-id",
    "WORKER_SLOTS": "--slots",
    "WORKER_GRACE_S": "--grace",
    "POLL_INTERVAL_MS": "--poll-interval-ms",
    "HEARTBEAT_INTERVAL_MS": "--heartbeat-interval-ms",
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseSettings:
    """Which Postgres: `url` when given, else the embedded server under `data_dir`."""

    url: str | None = None
    data_dir: Path = DEFAULT_DATA_DIR

    @property
    def embedded(self) -> bool:
        return self.url is None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """What is logged, and how it looks."""

    format: LogFormat = LogFormat.text
    level: LogLevel = LogLevel.info


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """What a worker serves and how; durations in seconds, no roles = every role."""

    roles: tuple[str, ...] = ()
    name: str | None = None
    slots: int = 1
    poll_interval: float = 5.0
    heartbeat_interval: float = 30.0
    grace: float = 25.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that can be set from outside."""

    database: DatabaseSettings = field(default_factory=DatabaseSettings)
    log: LogSettings = field(default_factory=LogSettings)
    worker: WorkerSettings = field(default_factory=WorkerSettings)


def read_settings(environ: Mapping[str, str] = os.environ, flags: Mapping[str, str | None] | None = None) -> Settings:
    """Read all settings; `flags` holds the given flags under the names of their variables."""
    source = _Source(environ, flags or {})
    return Settings(database=_database(source), log=_log(source), worker=_worker(source))


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
        except _Unfit as unfit:
            shown = text if unfit.shown is None else unfit.shown
            raise ConfigError(f"{shown!r} {unfit.problem}", variable=label, value=shown) from None

    def _find(self, variable: str) -> tuple[str, str]:
        flag = self.flags.get(variable)
        if flag is not None:
            return FLAGS[variable], flag.strip()
        return variable, self.environ.get(variable, "").strip()


class _Unfit(Exception):
    """A text that does not fit its setting: the problem, and what to show in place of a secret."""

    def __init__(self, problem: str, shown: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.shown = shown


def _database(source: _Source) -> DatabaseSettings:
    return DatabaseSettings(
        url=source.read("DATABASE_URL", _dsn, None),
        data_dir=source.read("ROLECALL_DATA_DIR", _folder, DEFAULT_DATA_DIR),
    )


def _log(source: _Source) -> LogSettings:
    return LogSettings(
        format=source.read("ROLECALL_LOG", _one_of(LogFormat), LogFormat.text),
        level=source.read("ROLECALL_LOG_LEVEL", _one_of(LogLevel), LogLevel.info),
    )


def _worker(source: _Source) -> WorkerSettings:
    standard = WorkerSettings()
    heartbeat = source.read("HEARTBEAT_INTERVAL_MS", _milliseconds(100), standard.heartbeat_interval)
    return WorkerSettings(
        roles=source.read("WORKER_ROLE", _roles, standard.roles),
        name=source.read("WORKER_ID", _name, standard.name),
        slots=source.read("WORKER_SLOTS", _whole(1, 1_000), standard.slots),
        poll_interval=source.read("POLL_INTERVAL_MS", _milliseconds(10), standard.poll_interval),
        heartbeat_interval=heartbeat,
        grace=source.read("WORKER_GRACE_S", _seconds(0, DAY_S), standard.grace),
    )


def _dsn(text: str) -> str:
    try:
        conninfo_to_dict(text)
    except ProgrammingError:
        # The text may hold a password: neither it nor libpq's message, which quotes it, may be shown.
        problem = "is not a Postgres URL such as postgresql://user:password@host:5432/database"
        raise _Unfit(problem, shown="(hidden)") from None
    return text


def _folder(text: str) -> Path:
    path = Path(text).expanduser()
    if path.exists() and not path.is_dir():
        raise _Unfit("is not a folder")
    return path


def _roles(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_role(part.strip()) for part in text.split(",")))


def _role(text: str) -> str:
    if not ROLE.fullmatch(text):
        raise _Unfit(f"holds {text!r}, which is not the name of a role (letters, digits, _ . -)")
    return text


def _name(text: str) -> str:
    if len(text) > LONGEST_NAME or not text.isprintable():
        raise _Unfit(f"must be printable and at most {LONGEST_NAME} characters long")
    return text


def _whole(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        return _within(_convert(text, int, "is not a whole number"), least, most)

    return parse


def _milliseconds(least: int) -> Callable[[str], float]:
    def parse(text: str) -> float:
        return _whole(least, HOUR_MS)(text) / 1000

    return parse


def _seconds(least: float, most: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        return _within(_convert(text, float, "is not a number"), least, most)

    return parse


def _one_of(options: type[Choice]) -> Callable[[str], Choice]:
    def parse(text: str) -> Choice:
        return _convert(text.lower(), options, f"is not one of {', '.join(options)}")

    return parse


def _convert(text: str, wanted: type[T], problem: str) -> T:
    try:
        return msgspec.convert(text, wanted, strict=False)
    except msgspec.ValidationError:
        raise _Unfit(problem) from None


def _within(number: Number, least: Number, most: Number) -> Number:
    if not least <= number <= most:
        raise _Unfit(f"must be between {least} and {most}")
    return number
