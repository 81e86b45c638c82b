"""Redis connections by password, Sentinel, TLS and cluster, and the errors when they fail."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable

import pytest
import uvloop

from rolecall.model.errors import ConfigError
from rolecall.transport.brokers import RedisAway, RedisLink, RedisRefuses, Script, connect_redis
from tests.brokers import Broker, cutting_server, redis


async def run_on(url: str, ask: Callable[[RedisLink], Awaitable[object]]) -> object:
    """Run one command on the Redis of a URL."""
    link = connect_redis(url)
    try:
        return await ask(link)
    finally:
        await link.close()


async def test_script_is_reloaded_by_a_server_that_has_lost_it(redis_server: Broker) -> None:
    script = Script("return ARGV[1]")
    link = connect_redis(redis_server.url)

    assert await link.run(script, [], ["one"]) == b"one"
    await link.call("SCRIPT", "FLUSH")
    assert await link.run(script, [], ["two"]) == b"two"
    await link.close()


async def test_rejection_by_the_server_is_distinguished_from_an_outage(redis_server: Broker) -> None:
    with pytest.raises(RedisRefuses):
        await run_on(redis_server.url, lambda link: link.call("NOPE"))
    redis_server.kill()
    with pytest.raises(RedisAway) as away:
        await run_on(redis_server.url, lambda link: link.call("PING"))
    assert not isinstance(away.value, RedisRefuses)


def test_connection_cut_at_any_moment_raises_an_outage() -> None:
    async def ask(port: int) -> None:
        link = connect_redis(f"redis://127.0.0.1:{port}")
        for _ in range(2_000):
            with pytest.raises(RedisAway):
                await link.call("PING")
        await link.close()

    with cutting_server() as port:
        # The workers' own loop, which reports a connection cut between two writes in its own way.
        uvloop.run(ask(port))


async def test_unresponsive_server_is_unavailable_after_two_seconds(redis_server: Broker) -> None:
    redis_server.freeze()
    with pytest.raises(RedisAway):
        async with asyncio.timeout(5):
            await run_on(redis_server.url, lambda link: link.call("PING"))


async def test_published_message_reaches_its_subscribers(redis_server: Broker) -> None:
    link = connect_redis(redis_server.url)
    result: asyncio.Queue[str] = asyncio.Queue()
    hearing = asyncio.create_task(link.subscribe("news", result.put_nowait))
    while not await link.call("PUBLISH", "news", "one"):
        await asyncio.sleep(0)
    assert await result.get() == "one"
    hearing.cancel()
    await asyncio.wait([hearing])
    await link.close()


async def test_password_of_the_url_is_sent_to_the_server() -> None:
    with redis("--requirepass", "s3cret/") as server:
        url = f"redis://:s3cret%2F@127.0.0.1:{server.port}"
        assert await run_on(url, lambda link: link.call("PING"))
        with pytest.raises(RedisAway):
            await run_on(server.url, lambda link: link.call("PING"))


@pytest.mark.parametrize("url", ["http://:geheim@host", "redis+sentinel://:geheim@host:1", "redis://:geheim@host:port"])
def test_invalid_redis_url_is_rejected_without_its_password(url: str) -> None:
    with pytest.raises(ConfigError, match=r"is not an address of Redis") as refused:
        connect_redis(url)
    assert "geheim" not in str(refused.value)


def test_extra_is_needed_only_to_connect() -> None:
    code = """
import subprocess
import sys

class Hides:
    def find_spec(self, name, path=None, target=None):
        if name == "redis":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Hides())
import rolecall.transport.brokers
assert "redis" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(ConfigError, match=r"pip install 'rolecall\[redis\]'"):
        connect_redis("redis://127.0.0.1")
