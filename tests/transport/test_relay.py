"""Notifications from Postgres reach a broker, and its subscribers detect gaps."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trustme
from psycopg import AsyncConnection

from rolecall.model.audit import Actor
from rolecall.model.errors import ConfigError
from rolecall.model.findings import Finding
from rolecall.service.database import OneConnection
from rolecall.service.doctor import Doctor
from rolecall.service.notifications import NotificationSettings, require_beat
from rolecall.testing.notifications.ground import postgres
from rolecall.transport.choice import choose
from rolecall.transport.in_process import InProcess
from rolecall.transport.listener import Listener, ListenerOptions
from rolecall.transport.relay import Relay
from rolecall.transport.transport import BEAT_CHANNEL, CHANNELS, WAKE_CHANNEL, Message, NotificationsUnavailable
from tests.brokers import Broker, free_port, redis
from tests.worker.bench import PATIENCE, Bench, until


class Interrupted(InProcess):
    """A source whose subscriptions a test can end."""

    @asynccontextmanager
    async def subscribe(self, channels: object) -> AsyncIterator[AsyncIterator[Message]]:
        async with super().subscribe(CHANNELS) as output:
            yield self._until_interrupted(output)

    async def _until_interrupted(self, output: AsyncIterator[Message]) -> AsyncIterator[Message]:
        async for message in output:
            if message[1] == "interrupted":
                raise OSError("the connection is lost")
            yield message


@asynccontextmanager
async def running(what: Listener | Relay) -> AsyncIterator[None]:
    task = asyncio.create_task(what.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def test_listeners_of_a_relay_are_notified_of_each_gap() -> None:
    source, target = Interrupted(), InProcess()
    relay = Relay(source, target, ListenerOptions(first_retry=0.01))
    async with target.subscribe([BEAT_CHANNEL]) as beats, running(relay):
        assert await anext(beats) == (BEAT_CHANNEL, "back")
        await source.publish(WAKE_CHANNEL, "interrupted")

        async with asyncio.timeout(PATIENCE):
            while await anext(beats) != (BEAT_CHANNEL, "back"):
                pass


async def test_frozen_server_is_detected_by_missing_heartbeats(redis_server: Broker) -> None:
    transport = choose(redis_server.url, InProcess())
    relay = Relay(InProcess(), transport)
    listener = Listener(transport, {}, lambda: None, options=ListenerOptions(beat_within=3.0))
    async with running(relay), running(listener):
        await until(lambda: listener.alive)
        redis_server.freeze()
        await until(lambda: listener.is_cut_off)
        redis_server.thaw()
        await until(lambda: listener.alive)


async def test_relay_is_not_in_the_worker_registry_and_keeps_one_connection(bench: Bench, redis_server: Broker) -> None:
    target = choose(redis_server.url, InProcess())
    async with running(Relay(postgres(bench.dsn), target)):
        await require_beat(target, PATIENCE)

        assert bench.ask("select count(*) from rolecall.workers") == 0
        sessions = (
            "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
        )
        await until(lambda: bench.ask(sessions) == 1)


async def test_doctor_reports_a_missing_relay_and_the_transport_of_workers(
    bench: Bench, redis_server: Broker, aconnection: AsyncConnection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def find_problems() -> tuple[list[Finding], str | None]:
        doctor = Doctor(
            OneConnection(aconnection, Actor(name="ada", via="cli")),
            notifications=NotificationSettings(notifications=redis_server.url),
        )
        diagnosis = await doctor.examine()
        return [found for found in diagnosis.findings if found.check == "notifications"], diagnosis.notifications

    async with running(Relay(postgres(bench.dsn), choose(redis_server.url, InProcess()))):
        assert await find_problems() == ([], redis_server.url)
    monkeypatch.setattr("rolecall.service.doctor.require_beat", partial(require_beat, within=0.2))
    (found,), by = await find_problems()

    assert "no relay forwards notifications" in found.problem
    assert by is None


async def test_password_appears_in_no_log_line(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    with redis("--requirepass", "opensesame") as server, caplog.at_level(logging.DEBUG, "rolecall"):
        for password, result in (("opensesame", f"arrive through {server.url}"), ("opensesame-not", "polling instead")):
            url = server.url.replace("//", f"//:{password}@")
            async with bench.working(notifications=url), running(Relay(postgres(bench.dsn), choose(url, InProcess()))):
                await until(lambda: result in caplog.text)

    assert "opensesame" not in caplog.text


async def test_tls_connection_verifies_the_server(tmp_path: Path) -> None:
    authority, stranger, port = trustme.CA(), trustme.CA(), free_port()
    certificate = authority.issue_cert("127.0.0.1")
    certificate.private_key_pem.write_to_path(tmp_path / "key.pem")
    certificate.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    stranger.cert_pem.write_to_path(tmp_path / "stranger.pem")
    files = ("--tls-cert-file", str(tmp_path / "cert.pem"), "--tls-key-file", str(tmp_path / "key.pem"))
    with redis("--tls-port", str(port), "--tls-auth-clients", "no", *files):
        url = f"rediss://127.0.0.1:{port}?ssl_ca_certs={tmp_path}"
        transport = choose(f"{url}/ca.pem", InProcess())
        async with transport.subscribe([WAKE_CHANNEL]) as output:
            await transport.publish(WAKE_CHANNEL, "mail")
            assert await anext(output) == (WAKE_CHANNEL, "mail")
        await transport.close()

        with pytest.raises(NotificationsUnavailable, match="certificate verify failed"):
            async with choose(f"{url}/stranger.pem", InProcess()).subscribe([WAKE_CHANNEL]):
                pass


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nats", None)

    with pytest.raises(ConfigError, match=r"pip install 'rolecall\[nats\]'"):
        choose("nats://host", InProcess())
