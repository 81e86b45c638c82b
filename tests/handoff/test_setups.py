"""Redis setups: behind Sentinel, with TLS, in a cluster; one queue works on each."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from rolecall.config.handoff import HandoffKind, HandoffSettings
from rolecall.handoff.connections import Connections
from rolecall.handoff.lanes import Band, Lane, Message
from rolecall.handoff.roll import Leader, WorkerBeat, beat, leader_of, read_workers
from rolecall.transport.brokers import RedisLink, connect_redis
from tests.brokers import free_port, redis, sentinel
from tests.handoff.house import comes_true

LANES = [Lane(Band.HIGH, "mail"), Lane(Band.LOW, "mail"), Lane(Band.LOW, "reports")]


async def works(url: str, wanted: HandoffKind = HandoffKind.STREAMS) -> None:
    """Push, wait, take, put back, acknowledge; beat and lead."""
    connections = Connections(HandoffSettings(low=url, high=url, kind=wanted), "one")
    queue, kind = await connections.open()
    assert kind == wanted
    for number, lane in enumerate(LANES, 1):
        assert await queue.push(lane, [Message(task_id=number)], 9, 9) == {number}
    assert await queue.wait(LANES)
    entries = await queue.take(LANES, 9)
    assert sorted(entry.task_id or 0 for entry in entries) == [1, 2, 3]
    await queue.put_back(entries[:1])
    assert await queue.wait([entries[0].lane])
    entries = [*await queue.take(LANES, 9), *entries[1:]]
    await queue.ack(entries)
    for lane in LANES:
        assert not await queue.stale(lane, 0)
        assert not await queue.forget_lost(lane, 0)
    assert {length.taken for length in await queue.lengths(LANES)} == {0}
    await beat(connections.control, "one", WorkerBeat(number=1, room=1))
    assert [worker.alive for worker in await read_workers(connections.control)] == [True]
    assert await Leader(connections.control, "one", kind, "pool").holds()
    assert await leader_of(connections.control) == ("one", kind, "pool")
    await connections.close()


async def test_keys_of_a_role_share_a_slot_of_a_cluster() -> None:
    options = ["--cluster-enabled", "yes", "--cluster-port", str(free_port())]
    with redis(*options) as server:
        node = connect_redis(server.url)
        await node.call("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        await comes_true(lambda: is_well(node))
        await works(f"redis+cluster://127.0.0.1:{server.port}")
        await node.close()


async def is_well(node: RedisLink) -> bool:
    return b"cluster_state:ok" in await node.call("CLUSTER", "INFO")


async def test_sentinel_names_the_master() -> None:
    with redis() as master, sentinel("shop", master.port) as watcher:
        await works(f"redis+sentinel://127.0.0.1:{watcher.port}/shop")


@pytest.mark.parametrize("own", ["", "hush"])
async def test_sentinels_can_have_no_password_or_their_own(own: str) -> None:
    settings = ["sentinel auth-pass shop secret"] + ([f"requirepass {own}"] if own else [])
    with redis("--requirepass", "secret") as master, sentinel("shop", master.port, *settings) as watcher:
        await works(f"redis+sentinel://:secret@127.0.0.1:{watcher.port}/shop?sentinel_password={own}")


@pytest.mark.parametrize("kind", [HandoffKind.STREAMS, HandoffKind.LISTS, HandoffKind.SIMPLE])
async def test_every_key_starts_with_the_prefix_of_the_url(kind: HandoffKind) -> None:
    with redis() as server:
        administrator = connect_redis(server.url)
        await administrator.call("ACL", "SETUSER", "shop", "on", ">secret", "~shop:*", "&*", "+@all")
        await works(f"redis://shop:secret@127.0.0.1:{server.port}/0?prefix=shop", kind)
        await administrator.close()


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[str, str]:
    """A certificate for this machine, and its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    key, made = str(tmp_path / "key.pem"), str(tmp_path / "cert.pem")
    name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    words = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", made, *name]
    subprocess.run(words, check=True, capture_output=True)
    return made, key


async def test_connection_can_use_tls(certificate: tuple[str, str]) -> None:
    made, key = certificate
    port = str(free_port())
    files = ["--tls-cert-file", made, "--tls-key-file", key, "--tls-ca-cert-file", made]
    with redis(*files, "--tls-port", port, "--tls-auth-clients", "no", "--requirepass", "secret"):
        await works(f"rediss://:secret@127.0.0.1:{port}/0?ssl_ca_certs={made}")


async def test_sentinel_and_its_master_can_use_tls(certificate: tuple[str, str]) -> None:
    made, key = certificate
    of_master, of_sentinel = free_port(), free_port()
    files = {"cert": made, "key": key, "ca-cert": made}
    options = [word for name, file in files.items() for word in (f"--tls-{name}-file", file)]
    settings = [f"tls-{name}-file {file}" for name, file in files.items()]
    settings += [f"tls-port {of_sentinel}", "tls-replication yes", "tls-auth-clients no"]
    with (
        redis(*options, "--tls-port", str(of_master), "--tls-auth-clients", "no"),
        sentinel("shop", of_master, *settings),
    ):
        await works(f"rediss+sentinel://127.0.0.1:{of_sentinel}/shop?ssl_ca_certs={made}")
