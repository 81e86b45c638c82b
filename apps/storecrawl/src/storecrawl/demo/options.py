"""The options of a demo."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from rolecall import ConfigError
from storecrawl.platforms.registry import PLATFORMS

MOST_FAILURES = 0.9
LONGEST_STEP = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """The size of the demo and what it crawls. Raises ConfigError.

    `stores` and `seed` describe the local upstream's world; None means the folder's, or 300 and 1. `platforms` are
    those of it to crawl. `upstream` is the URL of a Dutchie to crawl instead, `database` a Postgres to use instead of
    the embedded one. `failure_rate` (0 to 1) is that of the local upstream. `once` runs one full cycle.
    `step_seconds` is the real duration of four simulated hours, after which menus change and every store is fetched
    again. With `api`, a separate process serves dashboard and API on this machine.
    """

    data_dir: Path
    stores: int | None = None
    seed: int | None = None
    platforms: tuple[str, ...] = tuple(PLATFORMS)
    upstream: str | None = None
    database: str | None = None
    failure_rate: float = 0.0
    once: bool = False
    processes: int = 2
    slots: int = 4
    step_seconds: float = 180.0
    api: bool = True

    def __post_init__(self) -> None:
        _require_within("--failure-rate", self.failure_rate, 0.0, MOST_FAILURES)
        _require_within("--step-seconds", self.step_seconds, 5.0, LONGEST_STEP)
        _require_platforms(self.platforms)
        if self.upstream is not None:
            _require_web_address(self.upstream)


def _require_within(flag: str, value: float, least: float, most: float) -> None:
    # The command line's range check lets nan pass.
    if math.isnan(value) or not least <= value <= most:
        raise ConfigError(f"{value:g} is not between {least:g} and {most:g}", variable=flag, value=value)


def _require_platforms(names: tuple[str, ...]) -> None:
    for name in names:
        if name not in PLATFORMS:
            problem = f"{name!r} is not one of {', '.join(PLATFORMS)}"
            raise ConfigError(problem, variable="--platforms", value=",".join(names))


def _require_web_address(text: str) -> None:
    try:
        address = urlsplit(text)
        usable = address.scheme in {"http", "https"} and bool(address.hostname) and address.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ConfigError(f"{text!r} is not an http or https address", variable="--upstream", value=text)
