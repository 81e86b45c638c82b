"""Settings of the hand-off: which Redis, one for all or one for each band, and how tasks lie there."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import quote

from rolecall.config.brokers import prefix_apart
from rolecall.config.parsing import Unfit, whole

__all__ = ["HandoffKind", "HandoffSettings", "address_of", "port", "redis_url"]

SCHEMES = ("redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster")
port = whole(1, 65_535)


class HandoffKind(StrEnum):
    """How tasks lie in Redis: `auto` is the first kind that the server can; `off` means that none is handed over."""

    AUTO = "auto"
    STREAMS = "streams"
    LISTS = "lists"
    SIMPLE = "simple"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffSettings:
    """The Redis of either band: mostly the same. Without any, or with kind `off`, workers claim from Postgres."""

    low: str | None = field(default=None, repr=False)
    high: str | None = field(default=None, repr=False)
    kind: HandoffKind = HandoffKind.AUTO

    @property
    def on(self) -> bool:
        return self.low is not None and self.kind is not HandoffKind.OFF


def redis_url(text: str) -> str:
    """Take an address of Redis as it is. Raises Unfit, which shows no password."""
    scheme, separator, _ = text.partition("://")
    if not separator or scheme not in SCHEMES:
        shown = f"{scheme[:20]}://..." if separator else "(hidden)"
        raise Unfit("is no address of Redis such as redis://host:6379/0", shown=shown)
    prefix_apart(text)
    return text


def address_of(host: str, port: int, password: str) -> str | None:
    """Put an address together of what 003's variables say; None without a host."""
    if not host:
        return None
    secret = f":{quote(password, safe='')}@" if password else ""
    return f"redis://{secret}{host}:{port}/0"
