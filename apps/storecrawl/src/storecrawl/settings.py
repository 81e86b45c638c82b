"""The crawler's settings, read from the environment once, when the app is built."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from rolecall import ConfigError
from storecrawl.upstream.operations import OPERATIONS

PREFIX = "STORECRAWL_"
PATH = re.compile(r"(?:/[0-9A-Za-z_.-]+)+")
HASH = re.compile(r"([A-Za-z]+)=[0-9a-f]{64}")
OPERATION_NAMES = tuple(operation.name for operation in OPERATIONS)
BUCKET = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9][A-Za-z0-9._-]*)*/?")


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlSettings:
    """The settings of the crawler. Times are in seconds.

    Upstream and files: `upstream` is the menu platform's URL, `data_dir` the root of all files, unless `store` is a
    bucket (s3://bucket/prefix; endpoint and credentials in AWS_* variables). `states` are the codes that discovery
    covers; empty means all. `hashes` are persisted-query hashes in the form `FilteredProducts=<64 hex digits>`,
    tried in order before our own query texts.

    Rounds: the fetches of one `fetch_every` are spread in `fetch_batches`. Retries of a task start after
    `retry_first`, doubling up to 30 times that. Rounds of statistics start at least `derive_pause` apart. A product
    missing from `miss_threshold` complete menus in a row is removed. A menu that lost most of its products, or of the
    values of a field, is held until `confirmations` other fetches lost as much. A store without a menu for
    `dark_rounds` rounds is dark: its stock is unknown. Without `schedules`, only enqueued tasks run.

    Retention: files of payloads, limited to `payload_bytes` when decompressed, expire only if `keep_days` or
    `keep_last` (files per store) is set; either keeps a file. `sweep_every` is the interval of that check and of
    the search for orphans older than `orphan_age`. Changes of the feed are kept for `keep_change_days`. `images`
    enables product images of at most `image_bytes`, checked again after `image_every`, from public addresses and
    `image_networks`.

    Egress: routes are reloaded every `routes_every`. A route is paused, at first for `route_pause`, if
    `forbidden_limit` stores in a row are forbidden on it and on no other; otherwise the store is blocked, at first
    for `block_first` (0: never). `host_rate` is per second for all workers, `store_rate` per second and store.
    After `breaker_failures` failures in a row, a host is paused for `breaker_seconds`. Waits requested by the
    upstream count as at most `longest_retry_after`.
    """

    upstream: str = ""
    data_dir: Path = Path("storecrawl-data")
    store: str = ""
    states: tuple[str, ...] = ()
    fetch_every: float = 4 * 3600.0
    fetch_batches: int = 6
    dark_rounds: int = 12
    discover_every: float = 24 * 3600.0
    analyse_every: float = 6 * 3600.0
    derive_pause: float = 5.0
    miss_threshold: int = 3
    confirmations: int = 2
    retry_first: float = 10.0
    lease: float = 60.0
    payload_bytes: int = 100 * 1024 * 1024
    keep_days: int | None = None
    keep_last: int | None = None
    keep_change_days: int = 30
    sweep_every: float = 24 * 3600.0
    orphan_age: float = 24 * 3600.0
    images: bool = False
    image_bytes: int = 10 * 1024 * 1024
    image_every: float = 30 * 24 * 3600.0
    image_networks: tuple[str, ...] = ()
    page_pause: float = 0.4
    backoff: float = 2.0
    stores_path: str = "/graphql"
    menus_path: str = "/api-3/graphql"
    hashes: tuple[str, ...] = ()
    schedules: bool = True
    routes_every: float = 60.0
    forbidden_limit: int = 3
    route_pause: float = 60.0
    block_first: float = 600.0
    host_rate: float = 10.0
    store_rate: float = 2.5
    breaker_failures: int = 10
    breaker_seconds: float = 30.0
    longest_retry_after: float = 3600.0

    @property
    def dark_after(self) -> timedelta:
        """How long a store can be without a menu before it is dark."""
        return timedelta(seconds=self.dark_rounds * self.fetch_every)

    @property
    def hashes_by_operation(self) -> dict[str, tuple[str, ...]]:
        pairs = [one.split("=", 1) for one in self.hashes]
        return {name: tuple(digest for other, digest in pairs if other == name) for name, _ in pairs}

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> CrawlSettings:
        """Read the STORECRAWL_* variables. Raises ConfigError for an invalid value."""
        given = {name: environment[PREFIX + name.upper()] for name in _FIELDS if environment.get(PREFIX + name.upper())}
        return cls(**{name: _READERS[name](name, value) for name, value in given.items()})  # type: ignore[arg-type]  # each reader gives its field's type

    def to_environment(self) -> dict[str, str]:
        """Return the variables from which another process reads the same settings."""
        values = {name: getattr(self, name) for name in _FIELDS}
        return {PREFIX + name.upper(): _to_text(value) for name, value in values.items()}


def _to_text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(value)
    return "" if value is None else str(value)


def _seconds(name: str, value: str) -> float:
    return _positive(name, value, "seconds")


def _rate(name: str, value: str) -> float:
    return _positive(name, value, "requests per second")


def _positive(name: str, value: str, unit: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 < number < float("inf"):
        raise ConfigError(f"must be a positive number of {unit}", variable=PREFIX + name.upper(), value=value)
    return number


def _number(name: str, value: str) -> int:
    if not (value.isascii() and value.isdigit() and int(value) > 0):
        raise ConfigError("must be a positive integer", variable=PREFIX + name.upper(), value=value)
    return int(value)


def _limit(name: str, value: str) -> int:
    return 0 if value == "0" else _number(name, value)


def _text(name: str, value: str) -> str:
    if not value.startswith(("http://", "https://")):
        raise ConfigError("must be an http or https URL", variable=PREFIX + name.upper(), value=value)
    return value


def _truth(name: str, value: str) -> bool:
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if value.lower() not in words:
        raise ConfigError("must be yes or no", variable=PREFIX + name.upper(), value=value)
    return words[value.lower()]


def _bucket(name: str, value: str) -> str:
    if not BUCKET.fullmatch(value):
        raise ConfigError("must have the form s3://bucket/prefix", variable=PREFIX + name.upper(), value=value)
    return value


def _networks(name: str, value: str) -> tuple[str, ...]:
    networks = tuple(network.strip() for network in value.split(",") if network.strip())
    try:
        for network in networks:
            ipaddress.ip_network(network)
    except ValueError:
        raise ConfigError("must be a list of networks", variable=PREFIX + name.upper(), value=value) from None
    return networks


def _folder(_name: str, value: str) -> Path:
    return Path(value)


def _states(_name: str, value: str) -> tuple[str, ...]:
    return tuple(state.strip().upper() for state in value.split(",") if state.strip())


def _path(name: str, value: str) -> str:
    if not PATH.fullmatch(value):
        raise ConfigError("must be a path such as /graphql", variable=PREFIX + name.upper(), value=value)
    return value


def _hashes(name: str, value: str) -> tuple[str, ...]:
    given = tuple(one.strip() for one in value.split(",") if one.strip())
    for one in given:
        found = HASH.fullmatch(one)
        if found is None or found[1] not in OPERATION_NAMES:
            names = ", ".join(OPERATION_NAMES)
            problem = f"{one!r} must have the form {OPERATION_NAMES[0]}=<64 hex digits> with one of {names}"
            raise ConfigError(problem, variable=PREFIX + name.upper())
    return given


_READERS = {
    "upstream": _text,
    "data_dir": _folder,
    "store": _bucket,
    "states": _states,
    "fetch_every": _seconds,
    "fetch_batches": _number,
    "dark_rounds": _number,
    "discover_every": _seconds,
    "analyse_every": _seconds,
    "derive_pause": _seconds,
    "miss_threshold": _number,
    "confirmations": _number,
    "retry_first": _seconds,
    "lease": _seconds,
    "payload_bytes": _number,
    "keep_days": _number,
    "keep_last": _number,
    "keep_change_days": _number,
    "sweep_every": _seconds,
    "orphan_age": _seconds,
    "images": _truth,
    "image_bytes": _number,
    "image_every": _seconds,
    "image_networks": _networks,
    "page_pause": _seconds,
    "backoff": _seconds,
    "stores_path": _path,
    "menus_path": _path,
    "hashes": _hashes,
    "schedules": _truth,
    "routes_every": _seconds,
    "forbidden_limit": _limit,
    "route_pause": _seconds,
    "block_first": _seconds,
    "host_rate": _rate,
    "store_rate": _rate,
    "breaker_failures": _number,
    "breaker_seconds": _seconds,
    "longest_retry_after": _seconds,
}
_FIELDS = tuple(_READERS)
