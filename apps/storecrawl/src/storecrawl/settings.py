"""The crawler's settings, read from the environment once, when the app is built."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rolecall import ConfigError

PREFIX = "STORECRAWL_"


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlSettings:
    """Where the crawler crawls and how hard it tries.

    `upstream` is the base URL of the menu platform, `data_dir` the root of the crawl payload files, `states` the
    two-letter codes that discovery covers (empty: every state the platform names). `fetch_every` and the other
    times are seconds. `retry_first` is the delay after a task's first failed attempt; it doubles up to 30 times that.
    `lease` is how long a worker that says nothing keeps a task: after that the task is given to another.
    `page_pause` and `backoff` are the client's politeness between pages and after a failed request. Without `schedules`
    nothing runs but what somebody enqueues.
    """

    upstream: str = ""
    data_dir: Path = Path("storecrawl-data")
    states: tuple[str, ...] = ()
    fetch_every: float = 4 * 3600.0
    discover_every: float = 24 * 3600.0
    analyse_every: float = 6 * 3600.0
    retry_first: float = 10.0
    lease: float = 60.0
    page_pause: float = 0.4
    backoff: float = 2.0
    schedules: bool = True

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> CrawlSettings:
        """Read STORECRAWL_UPSTREAM, _DATA_DIR, _STATES and the periods; raises ConfigError for a value that is none."""
        given = {name: environment[PREFIX + name.upper()] for name in _FIELDS if environment.get(PREFIX + name.upper())}
        return cls(**{name: _READERS[name](name, value) for name, value in given.items()})  # type: ignore[arg-type]  # each reader gives its field's type

    def to_environment(self) -> dict[str, str]:
        """Return the variables from which another process reads the same settings."""
        values = {name: getattr(self, name) for name in _FIELDS}
        return {
            PREFIX + name.upper(): ",".join(value) if isinstance(value, tuple) else str(value)
            for name, value in values.items()
        }


def _seconds(name: str, value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise ConfigError("it is no positive number of seconds", variable=PREFIX + name.upper(), value=value)
    return seconds


def _text(name: str, value: str) -> str:
    if not value.startswith(("http://", "https://")):
        raise ConfigError("it is no http or https URL", variable=PREFIX + name.upper(), value=value)
    return value


def _truth(name: str, value: str) -> bool:
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if value.lower() not in words:
        raise ConfigError("it is neither yes nor no", variable=PREFIX + name.upper(), value=value)
    return words[value.lower()]


def _folder(_name: str, value: str) -> Path:
    return Path(value)


def _states(_name: str, value: str) -> tuple[str, ...]:
    return tuple(state.strip().upper() for state in value.split(",") if state.strip())


_READERS = {
    "upstream": _text,
    "data_dir": _folder,
    "states": _states,
    "fetch_every": _seconds,
    "discover_every": _seconds,
    "analyse_every": _seconds,
    "retry_first": _seconds,
    "lease": _seconds,
    "page_pause": _seconds,
    "backoff": _seconds,
    "schedules": _truth,
}
_FIELDS = tuple(_READERS)
