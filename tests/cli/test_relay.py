"""`rolecall relay`, and the relays in `serve` and `up`, as real processes."""

from __future__ import annotations

import signal

import psycopg
import pytest

from tests.brokers import Broker
from tests.cli.conftest import Run
from tests.cli.processes import Spawn, ended, until

QUIET = """
select count(*) from pg_stat_activity
where datname = current_database() and application_name like 'rolecall:worker:claim:%'
    and clock_timestamp() - query_start > interval '1.3 s'
"""


@pytest.mark.parametrize(
    "verb",
    [["relay"], ["serve", "--app", "shop:app", "--port", "0"], ["up", "--http", "off"]],
    ids=lambda words: str(words[0]),
)
def test_worker_receives_notifications_relayed_by_redis(
    spawn: Spawn, bare: Run, dsn: str, redis_server: Broker, monkeypatch: pytest.MonkeyPatch, verb: list[str]
) -> None:
    monkeypatch.setenv("DATABASE_URL", dsn)
    monkeypatch.setenv("ROLECALL_NOTIFICATIONS", redis_server.url)
    monkeypatch.setenv("POLL_INTERVAL_MS", "600000")
    relay = spawn(*verb)
    worker = spawn("worker", "--app", "shop:app", "--roles", "sums")
    with psycopg.connect(dsn, autocommit=True) as connection:
        # A worker without notifications polls every second.
        until(lambda: connection.execute(QUIET).fetchone() == (1 + (verb[0] == "up"),), "the worker only listens")

        bare("enqueue", "add", '{"a": 1, "b": 2}')
        done = "select count(*) from rolecall.finished_tasks"
        until(lambda: connection.execute(done).fetchone() == (1,), "the task is done")

    for process in (worker, relay):
        process.send_signal(signal.SIGTERM)
        assert ended(process).code == 0


def test_relay_without_a_broker_is_rejected(bare: Run, dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", dsn)
    done = bare("relay")

    assert done.code == 2
    assert "ROLECALL_NOTIFICATIONS: 'postgres' needs no relay" in done.err
