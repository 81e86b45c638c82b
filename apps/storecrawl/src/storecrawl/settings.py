"""The crawler's settings, read from the environment once, when the app is built.

Each setting is defined once, as a field: its type decides which texts are valid, and describes them in errors.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import msgspec
from msgspec import Meta

from rolecall import ConfigError
from storecrawl.platforms.registry import PLATFORMS
from storecrawl.platforms.settings import PlatformSettings, read_own, variable_of

PREFIX = "STORECRAWL_"
PER_PLATFORM = (
    "states", "fetch_every", "fetch_batches", "discover_every", "page_pause", "backoff", "host_rate", "store_rate",
    "longest_retry_after",
)  # fmt: skip
"""The settings that a platform can have with another value: STORECRAWL_DUTCHIE_FETCH_EVERY."""
BUCKET = r"^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9][A-Za-z0-9._-]*)*/?\Z"
WORDS = {"yes": "true", "no": "false"}

Seconds = Annotated[float, Meta(gt=0, lt=1e12, description="a positive number of seconds")]
Rate = Annotated[float, Meta(gt=0, lt=1e12, description="a positive number of requests per second")]
Number = Annotated[int, Meta(gt=0, description="a positive integer")]
Limit = Annotated[int, Meta(ge=0, description="an integer, 0 or more")]
Url = Annotated[str, Meta(pattern="^https?://", description="an http or https URL")]
Bucket = Annotated[str, Meta(pattern=BUCKET, description="of the form s3://bucket/prefix")]
Networks = Annotated[tuple[str, ...], Meta(description="a list of networks")]


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlSettings:
    """The settings of the crawler. Times are in seconds.

    Platforms and files: `platforms` are the crawled platforms by name; each can have other values of the settings in
    `PER_PLATFORM`. `data_dir` is the root of all files, unless `store` is a bucket (s3://bucket/prefix; endpoint and
    credentials in AWS_* variables). `states` are the codes that discovery covers; empty means all.

    Rounds: the fetches of one `fetch_every` are spread in `fetch_batches`. Retries of a task start after
    `retry_first`, doubling up to 30 times that. Rounds of statistics start at least `derive_pause` apart. A product
    missing from `miss_threshold` complete menus in a row is removed. A menu that lost most of its products, or of the
    values of a field, is held until `confirmations` other fetches lost as much. A store without a menu for
    `dark_rounds` rounds is dark: its stock is unknown. Without `schedules`, only enqueued tasks run.

    Retention: payloads, limited to `payload_bytes` when decompressed, expire after `keep_days`, except for the
    `keep_last` of each store. Values that ended more than `history_months` ago leave the histories (0: never).
    `sweep_every` is the interval of that check and of the search for orphans older than `orphan_age`. Changes of
    the feed are kept for `keep_change_days`. With `images`, the original bytes of product images of at most
    `image_bytes` are kept, from public addresses and `image_networks`.

    Lake: `lake` enables the Parquet files of prices, which are brought up to date every `lake_every`. Days older than
    `lake_keep_days` are removed; without it, none is.

    Egress: routes are reloaded every `routes_every`. A route is paused, at first for `route_pause`, if
    `forbidden_limit` stores in a row are forbidden on it and on no other; otherwise the store is blocked, at first
    for `block_first` (0: never). `host_rate` is per second for all workers, `store_rate` per second and store.
    After `breaker_failures` failures in a row, a host is paused for `breaker_seconds`. Waits requested by the
    upstream count as at most `longest_retry_after`.
    """

    platforms: Mapping[str, PlatformSettings] = field(default_factory=dict)
    data_dir: Path = Path("storecrawl-data")
    store: Bucket = ""
    states: tuple[str, ...] = ()
    fetch_every: Seconds = 4 * 3600.0
    fetch_batches: Number = 6
    dark_rounds: Number = 12
    discover_every: Seconds = 24 * 3600.0
    analyse_every: Seconds = 6 * 3600.0
    derive_pause: Seconds = 5.0
    miss_threshold: Number = 3
    confirmations: Number = 2
    retry_first: Seconds = 10.0
    lease: Seconds = 60.0
    payload_bytes: Number = 100 * 1024 * 1024
    keep_days: Limit = 30
    keep_last: Number = 10
    history_months: Limit = 24
    keep_change_days: Number = 30
    sweep_every: Seconds = 24 * 3600.0
    orphan_age: Seconds = 24 * 3600.0
    images: bool = False
    image_bytes: Number = 10 * 1024 * 1024
    image_networks: Networks = ()
    lake: bool = False
    lake_every: Seconds = 6 * 3600.0
    lake_keep_days: Number | None = None
    page_pause: Seconds = 0.4
    backoff: Seconds = 2.0
    schedules: bool = True
    routes_every: Seconds = 60.0
    forbidden_limit: Limit = 3
    route_pause: Seconds = 60.0
    block_first: Seconds = 600.0
    host_rate: Rate = 10.0
    store_rate: Rate = 2.5
    breaker_failures: Number = 10
    breaker_seconds: Seconds = 30.0
    longest_retry_after: Seconds = 3600.0

    @property
    def dark_after(self) -> timedelta:
        """How long a store can be without a menu before it is dark: by the longest rounds of any platform."""
        rounds = [self.fetch_every, *(self.of(name).fetch_every for name in self.platforms)]
        return timedelta(seconds=self.dark_rounds * max(rounds))

    def of(self, platform: str) -> CrawlSettings:
        """Return the settings with the values of a platform."""
        return replace(self, **self.platforms[platform].overrides)  # type: ignore[arg-type]  # values of these fields

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> CrawlSettings:
        """Read the STORECRAWL_* variables. Raises ConfigError for an invalid value."""
        hints = _hints()
        given = {name: text for name in hints if (text := environment.get(PREFIX + name.upper()))}
        values = {name: _read(name, text, hints[name]) for name, text in given.items()}
        platforms = {name: _platform(name, environment) for name in PLATFORMS}
        return cls(platforms={name: each for name, each in platforms.items() if each is not None}, **values)

    def to_environment(self) -> dict[str, str]:
        """Return the variables from which another process reads the same settings."""
        texts = {PREFIX + name.upper(): _to_text(getattr(self, name)) for name in _hints()}
        for name, platform in self.platforms.items():
            own = {"upstream": platform.upstream, **platform.own, **platform.overrides}
            texts |= {variable_of(name, option): _to_text(value) for option, value in own.items()}
        return texts


@cache
def _hints() -> dict[str, Any]:
    """Return the types of the settings that have one variable each."""
    hints = get_type_hints(CrawlSettings, include_extras=True)
    return {name: hint for name, hint in hints.items() if name != "platforms"}


def _platform(platform: str, environment: Mapping[str, str]) -> PlatformSettings | None:
    """Read the variables of a platform; None if it has no URL, so that it is not crawled."""

    def given(names: Iterable[str]) -> dict[str, str]:
        stated = {name: environment.get(variable_of(platform, name)) for name in names}
        return {name: text for name, text in stated.items() if text}

    upstream = given(["upstream"]).get("upstream")
    if upstream is None:
        return None
    own = given(PLATFORMS[platform].spec.options)
    read_own(platform, own)
    hints = _hints()
    overrides = {
        name: _read(name, text, hints[name], variable_of(platform, name)) for name, text in given(PER_PLATFORM).items()
    }
    url = _read("upstream", upstream, Url, variable_of(platform, "upstream"))
    return PlatformSettings(upstream=url, own=own, overrides=overrides)


def _to_text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(value)
    return "" if value is None else str(value)


def _read(name: str, text: str, hint: Any, variable: str = "") -> Any:
    try:
        value = msgspec.convert(_parts(name, text), hint, strict=False, dec_hook=lambda kind, each: kind(each))
        if name == "image_networks":
            for network in value:
                ipaddress.ip_network(network)
    except ValueError:
        raise ConfigError(
            f"must be {_description(hint)}", variable=variable or PREFIX + name.upper(), value=text
        ) from None
    return value


@cache
def _defaults() -> CrawlSettings:
    return CrawlSettings()


def _parts(name: str, text: str) -> str | list[str]:
    default = getattr(_defaults(), name, "")
    if isinstance(default, tuple):
        parts = [part.strip() for part in text.split(",") if part.strip()]
        return [part.upper() for part in parts] if name == "states" else parts
    return WORDS.get(text.lower(), text.lower()) if isinstance(default, bool) else text


def _description(hint: Any) -> str:
    described = next((each for each in (hint, *get_args(hint)) if hasattr(each, "__metadata__")), None)
    return described.__metadata__[0].description if described else "yes or no"
