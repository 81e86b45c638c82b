"""Links on top of redis-py. Import this only through `door`, because the extra may not be installed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.connection import AbstractConnection, parse_url
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import MasterNotFoundError, Sentinel
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError, ResponseError

from rolecall.config.brokers import split_prefix
from rolecall.transport.brokers.cuts import cuts_as_os_errors
from rolecall.transport.brokers.link import RedisAway, RedisRefuses, Script

SENTINEL_PORT = 26379
ANSWER_WITHIN = 2.0
SILENCE = 1.0
# Which arguments of a command are keys, if not only the first one.
FIRST = slice(1, 2)
NONE = slice(0)
KEYS_AT = {
    **dict.fromkeys(("BLMOVE", "BRPOPLPUSH", "RPOPLPUSH"), slice(1, 3)),
    "BLPOP": slice(1, -1),
    **dict.fromkeys(("CONFIG GET", "INFO", "PING", "PUBLISH", "TIME"), NONE),
}
SCHEMES = ("redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster")


class ClientLink:
    """`RedisLink` on top of redis-py."""

    def __init__(self, client: Any, *, prefix: str, cluster: bool = False, sentinels: Sequence[Any] = ()) -> None:
        self._client = client
        self._prefix = f"{prefix}:" if prefix else ""
        self._sentinels = sentinels
        self.cluster = cluster

    async def call(self, *words: Any) -> Any:
        with _errors_of_ours():
            return await self._client.execute_command(*self._with_prefix(words))

    async def calls(self, commands: Iterable[Sequence[Any]]) -> list[Any]:
        with _errors_of_ours():
            pipeline = self._client.pipeline(transaction=False)
            for words in commands:
                pipeline.execute_command(*self._with_prefix(words))
            return list(await pipeline.execute())

    async def run(self, script: Script, keys: Sequence[str], arguments: Sequence[Any]) -> Any:
        given = (len(keys), *(self._prefix + key for key in keys), *arguments)
        with _errors_of_ours():
            try:
                return await self._client.execute_command("EVALSHA", script.digest, *given)
            except NoScriptError:
                return await self._client.execute_command("EVAL", script.text, *given)

    async def subscribe(self, channel: str, receive: Callable[[str], None]) -> None:
        with _errors_of_ours():
            async with self._client.pubsub(ignore_subscribe_messages=True) as subscription:
                # Separate steps: if one swallows a cancellation, the next must not wait.
                with _errors_of_ours():
                    await subscription.subscribe(channel)
                while True:
                    with _errors_of_ours():
                        # Without a timeout of its own, a quiet channel would count as a missing answer.
                        message = await subscription.get_message(timeout=SILENCE)
                    if message:
                        receive(message["data"].decode(errors="replace"))

    def connection(self) -> AbstractConnection:
        """Create a connection for exclusive use. Not available for a cluster."""
        connection: AbstractConnection = self._client.connection_pool.make_connection()
        return connection

    def _with_prefix(self, words: Sequence[Any]) -> Sequence[Any]:
        if not self._prefix:
            return words
        prefixed = list(words)
        keys = KEYS_AT.get(words[0], FIRST)
        prefixed[keys] = [f"{self._prefix}{key}" for key in prefixed[keys]]
        return prefixed

    async def close(self) -> None:
        # An error of one client must not leave the others open.
        with _errors_of_ours():
            async with AsyncExitStack() as stack:
                for client in (self._client, *self._sentinels):
                    stack.push_async_callback(client.aclose)


def link_to(url: str) -> ClientLink:
    """Create the link for a URL. Raises ValueError for an invalid URL, InvalidText for an invalid prefix."""
    url, prefix = split_prefix(url)
    scheme = urlsplit(url).scheme
    if scheme not in SCHEMES:
        raise ValueError(f"it must start with one of {', '.join(SCHEMES)}")
    if scheme.endswith("+sentinel"):
        return _by_sentinel(url, prefix)
    if scheme.endswith("+cluster"):
        cluster = RedisCluster.from_url(url.replace("+cluster", "", 1), **_options())
        return ClientLink(cluster, prefix=prefix, cluster=True)
    return ClientLink(Redis.from_url(url, **_options()), prefix=prefix)


def _by_sentinel(url: str, prefix: str) -> ClientLink:
    parts = urlsplit(url)
    service, _, database = parts.path.strip("/").partition("/")
    if not service:
        raise ValueError("the name of the master is missing, as in redis+sentinel://host:26379/name")
    options, sentinel_options = _options_of(parts)
    hosts = [_host(text) for text in parts.netloc.rpartition("@")[2].split(",")]
    sentinel = Sentinel(hosts, sentinel_kwargs=options | sentinel_options, **options)  # type: ignore[no-untyped-call]
    master = sentinel.master_for(service, db=int(database or 0))
    return ClientLink(master, prefix=prefix, sentinels=sentinel.sentinels)


def _options_of(parts: SplitResult) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options for the master and for the Sentinels, which can have a password of their own in the URL."""
    parameters = dict(parse_qsl(parts.query, keep_blank_values=True))
    sentinel_options: dict[str, Any] = {}
    if (password := parameters.pop("sentinel_password", None)) is not None:
        sentinel_options = {"username": parameters.pop("sentinel_username", None), "password": password or None}
    user, at, _ = parts.netloc.rpartition("@")
    options = _options() | parse_url(f"redis://{user}{at}/?{urlencode(parameters)}")
    if parts.scheme.startswith("rediss"):
        options["ssl"] = True
    return options, sentinel_options


def _host(text: str) -> tuple[str, int]:
    parts = urlsplit(f"//{text}")
    if not parts.hostname:
        raise ValueError("a host is missing")
    return parts.hostname, parts.port or SENTINEL_PORT


def _options() -> dict[str, Any]:
    return {
        "protocol": 2,
        "socket_timeout": ANSWER_WITHIN,
        "socket_connect_timeout": ANSWER_WITHIN,
        "retry": Retry(NoBackoff(), 0),
    }


@contextmanager
def _errors_of_ours() -> Iterator[None]:
    task = asyncio.current_task()
    cancelled = task.cancelling() if task else 0
    try:
        with cuts_as_os_errors():
            yield
    except ResponseError as error:
        raise RedisRefuses(str(error)) from error
    except MasterNotFoundError as error:
        # The rest of the client's message describes the internal state of each Sentinel client.
        found, _, _ = str(error).partition(" : ")
        raise RedisAway(f"{found}: no Sentinel answers, or none knows a running master") from error
    except (RedisError, OSError, TimeoutError) as error:
        raise RedisAway(str(error) or type(error).__name__) from error
    finally:
        # The client treats a cancellation while it connects or reads as a lost connection, and continues.
        if task is not None and task.cancelling() > cancelled:
            raise asyncio.CancelledError
