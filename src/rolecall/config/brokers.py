"""Addresses of brokers. They are never shown with their passwords."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit, urlunsplit

from rolecall.config.parsing import InvalidText
from rolecall.config.setting import Setting

REDIS = ("redis", "rediss", "redis+sentinel", "rediss+sentinel")
NATS = ("nats", "tls")
WORDS = ("postgres", "poll", "in-process")
PREFIX = re.compile(r"[A-Za-z0-9_-]{1,60}")
NO_PREFIX = "has an invalid prefix: use letters, digits, _ and -"
HIDDEN = "(hidden)"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerAddress:
    """The address of a broker, for NATS of one or more servers.

    `prefix` starts the names of our channels, so that several Rolecall databases can share a broker. `shown` contains
    no secrets.
    """

    scheme: str
    urls: tuple[str, ...] = field(repr=False)
    shown: str
    prefix: str = ""


def notifications(text: str) -> str:
    """Validate a keyword or the address of a broker. Raises InvalidText."""
    if text.lower() in WORDS:
        return text.lower()
    broker_address(text)
    return text


NOTIFICATIONS = Setting(
    name="ROLECALL_NOTIFICATIONS",
    flag="--notifications",
    form="HOW",
    default="postgres",
    parse=notifications,
    meaning="How workers are notified: postgres, poll, in-process, redis://host:6379 or nats://host:4222.",
)
SETTINGS = (NOTIFICATIONS,)


def broker_address(text: str) -> BrokerAddress:
    """Parse `redis://host:6379` or `nats://one:4222,nats://two:4222`, optionally with `?prefix=shop`.

    Raises InvalidText.
    """
    several = text.startswith(tuple(f"{scheme}://" for scheme in NATS))
    each = [part.strip() for part in (text.split(",") if several else [text])]
    parts = [_split(part) for part in each]
    pairs = [split_prefix(part) for part in each]
    prefixes = {prefix for _, prefix in pairs if prefix}
    if len(prefixes) > 1:
        raise InvalidText(NO_PREFIX, shown=_hidden(text))
    return BrokerAddress(
        scheme=parts[0].scheme,
        urls=tuple(url for url, _ in pairs),
        shown=", ".join(without_password(part) for part in parts),
        prefix=prefixes.pop() if prefixes else "",
    )


def split_prefix(url: str) -> tuple[str, str]:
    """Split an address into the address without `prefix=` and the prefix, which may be empty. Raises InvalidText."""
    before, _, query = url.partition("?")
    problem = parse_qsl(query, keep_blank_values=True)
    prefixes = [value for name, value in problem if name == "prefix"]
    if not prefixes:
        return url, ""
    if len(prefixes) > 1 or not PREFIX.fullmatch(prefixes[0]):
        raise InvalidText(NO_PREFIX, shown=_hidden(url))
    others = urlencode([(name, value) for name, value in problem if name != "prefix"])
    return (f"{before}?{others}" if others else before), prefixes[0]


def without_password(url: str | SplitResult) -> str:
    """Return the address without user, password and parameters. Raises InvalidText if it is invalid."""
    parts = _split(url) if isinstance(url, str) else url
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        known = parts.scheme in {*REDIS, *NATS} and _has_hosts(parts)
    except ValueError:
        known = False
    if not known:
        problem = f"is neither {', '.join(WORDS)} nor an address such as redis://host:6379 or nats://host:4222"
        raise InvalidText(problem, shown=_hidden(url))
    return parts


def _has_hosts(parts: SplitResult) -> bool:
    """Return whether all hosts and ports are valid. Raises ValueError."""
    hosts = parts.netloc.rpartition("@")[2].split(",") if parts.scheme.endswith("+sentinel") else [parts.netloc]
    return all(host.hostname and (host.port is None or host.port) for host in (urlsplit(f"//{host}") for host in hosts))


def _hidden(text: str) -> str | None:
    # The text may contain a password.
    return HIDDEN if "@" in text else None
