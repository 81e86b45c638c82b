"""The crawler's settings, read from the environment once, when the app is built.

Each setting is defined once, as a field: its type decides which texts are valid, and describes them in errors.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import msgspec
from msgspec import Meta

from rolecall import ConfigError
from storecrawl.upstream.operations import OPERATIONS

PREFIX = "STORECRAWL_"
OPERATION = "|".join(operation.name for operation in OPERATIONS)
BUCKET = r"^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9][A-Za-z0-9._-]*)*/?\Z"
WORDS = {"yes": "true", "no": "false"}

Seconds = Annotated[float, Meta(gt=0, lt=1e12, description="a positive number of seconds")]
Rate = Annotated[float, Meta(gt=0, lt=1e12, description="a positive number of requests per second")]
Number = Annotated[int, Meta(gt=0, description="a positive integer")]
Limit = Annotated[int, Meta(ge=0, description="an integer, 0 or more")]
Url = Annotated[str, Meta(pattern="^https?://", description="an http or https URL")]
UrlPath = Annotated[str, Meta(pattern=r"^(/[0-9A-Za-z_.-]+)+\Z", description="a path such as /graphql")]
Bucket = Annotated[str, Meta(pattern=BUCKET, description="of the form s3://bucket/prefix")]
Hash = Annotated[str, Meta(pattern=rf"^({OPERATION})=[0-9a-f]{{64}}\Z")]
Hashes = Annotated[
    tuple[Hash, ...],
    Meta(description=f"a list of the form {OPERATIONS[0].name}=<64 hex digits>, with one of {OPERATION}"),
]
Networks = Annotated[tuple[str, ...], Meta(description="a list of networks")]


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
    the search for orphans older than `orphan_age`. With `images`, the original bytes of product images
    of at most `image_bytes` are kept, from public addresses and `image_networks`.

    Egress: routes are reloaded every `routes_every`. A route is paused, at first for `route_pause`, if
    `forbidden_limit` stores in a row are forbidden on it and on no other; otherwise the store is blocked, at first
    for `block_first` (0: never). `host_rate` is per second for all workers, `store_rate` per second and store.
    After `breaker_failures` failures in a row, a host is paused for `breaker_seconds`. Waits requested by the
    upstream count as at most `longest_retry_after`.
    """

    upstream: Url = ""
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
    keep_days: Number | None = None
    keep_last: Number | None = None
    sweep_every: Seconds = 24 * 3600.0
    orphan_age: Seconds = 24 * 3600.0
    images: bool = False
    image_bytes: Number = 10 * 1024 * 1024
    image_networks: Networks = ()
    page_pause: Seconds = 0.4
    backoff: Seconds = 2.0
    stores_path: UrlPath = "/graphql"
    menus_path: UrlPath = "/api-3/graphql"
    hashes: Hashes = ()
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
        """How long a store can be without a menu before it is dark."""
        return timedelta(seconds=self.dark_rounds * self.fetch_every)

    @property
    def hashes_by_operation(self) -> dict[str, tuple[str, ...]]:
        pairs = [one.split("=", 1) for one in self.hashes]
        return {name: tuple(digest for other, digest in pairs if other == name) for name, _ in pairs}

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> CrawlSettings:
        """Read the STORECRAWL_* variables. Raises ConfigError for an invalid value."""
        hints = get_type_hints(cls, include_extras=True)
        given = {name: text for name in hints if (text := environment.get(PREFIX + name.upper()))}
        return cls(**{name: _read(name, text, hints[name]) for name, text in given.items()})

    def to_environment(self) -> dict[str, str]:
        """Return the variables from which another process reads the same settings."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {PREFIX + name.upper(): _to_text(value) for name, value in values.items()}


def _to_text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(value)
    return "" if value is None else str(value)


def _read(name: str, text: str, hint: Any) -> Any:
    try:
        value = msgspec.convert(_parts(name, text), hint, strict=False, dec_hook=lambda kind, each: kind(each))
        if name == "image_networks":
            for network in value:
                ipaddress.ip_network(network)
    except ValueError:
        raise ConfigError(f"must be {_description(hint)}", variable=PREFIX + name.upper(), value=text) from None
    return value


def _parts(name: str, text: str) -> str | list[str]:
    default = getattr(CrawlSettings(), name)
    if isinstance(default, tuple):
        parts = [part.strip() for part in text.split(",") if part.strip()]
        return [part.upper() for part in parts] if name == "states" else parts
    return WORDS.get(text.lower(), text.lower()) if isinstance(default, bool) else text


def _description(hint: Any) -> str:
    described = next((each for each in (hint, *get_args(hint)) if hasattr(each, "__metadata__")), None)
    return described.__metadata__[0].description if described else "yes or no"
