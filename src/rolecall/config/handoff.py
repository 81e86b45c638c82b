"""Settings of the dispatch through Redis: the servers and the kind of queues."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import quote

from rolecall.config.brokers import split_prefix
from rolecall.config.parsing import InvalidText, integer, one_of
from rolecall.config.setting import Setting, Source

SCHEMES = ("redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster")
USUAL_PORT = 6379


class HandoffKind(StrEnum):
    """The kind of queues in Redis. `auto` is the first kind that the server supports; `off` disables dispatch."""

    AUTO = "auto"
    STREAMS = "streams"
    LISTS = "lists"
    SIMPLE = "simple"
    OFF = "off"


def redis_url(text: str) -> str:
    """Validate the address of a Redis. Raises InvalidText without showing the password."""
    scheme, separator, _ = text.partition("://")
    if not separator or scheme not in SCHEMES:
        shown = f"{scheme[:20]}://..." if separator else "(hidden)"
        raise InvalidText("is not the address of a Redis such as redis://host:6379/0", shown=shown)
    split_prefix(text)
    return text


def _host(band: str, meaning: str) -> Setting[str]:
    name = f"REDIS_HOST_{band}"
    return Setting(name=f"ROLECALL_{name}", aliases=(name,), form="HOST", parse=str, meaning=meaning)


def _port(band: str) -> Setting[int]:
    name = f"REDIS_PORT_{band}"
    meaning = "Its port."
    port = integer(1, 65_535)
    return Setting(
        name=f"ROLECALL_{name}", aliases=(name,), form="PORT", default=str(USUAL_PORT), parse=port, meaning=meaning
    )


REDIS_URL = Setting(
    name="ROLECALL_REDIS_URL",
    form="URL",
    parse=redis_url,
    meaning="The Redis of the dispatch and of rate limits, such as redis://host:6379/0.",
)
HANDOFF = Setting(
    name="ROLECALL_HANDOFF",
    form="KIND",
    default="auto",
    parse=one_of(HandoffKind),
    meaning="The kind of queues in Redis: auto, streams, lists, simple, or off.",
)
LOW = (_host("LOW", "Instead: the server of the low band, or of both if the other is not set."), _port("LOW"))
HIGH = (_host("HIGH", "The server of the high band, heartbeats and the leader's lock."), _port("HIGH"))
PASSWORD = Setting(
    name="ROLECALL_REDIS_PASSWORD",
    aliases=("REDIS_PASSWORD",),
    form="TEXT",
    parse=str,
    meaning="The password of these two servers.",
)
SETTINGS = (REDIS_URL, HANDOFF, *LOW, *HIGH, PASSWORD)


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffSettings:
    """The Redis of each band, usually the same. Without one, or with kind `off`, workers claim from Postgres."""

    low: str | None = field(default=None, repr=False)
    high: str | None = field(default=None, repr=False)
    kind: HandoffKind = HandoffKind.AUTO

    @property
    def on(self) -> bool:
        return self.low is not None and self.kind is not HandoffKind.OFF


def read_handoff_settings(source: Source) -> HandoffSettings:
    """Read the settings of dispatch. Raises ConfigError."""
    url = source.read(REDIS_URL, None)
    password = source.read(PASSWORD, "")
    low, high = (
        _address_of(source.read(host, ""), source.read(port, USUAL_PORT), password) for host, port in (LOW, HIGH)
    )
    kind = source.read(HANDOFF, HandoffKind.AUTO)
    return HandoffSettings(low=url or low or high, high=url or high or low, kind=kind)


def _address_of(host: str, port: int, password: str) -> str | None:
    if not host:
        return None
    secret = f":{quote(password, safe='')}@" if password else ""
    return f"redis://{secret}{host}:{port}/0"
