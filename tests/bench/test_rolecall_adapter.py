"""Our adapter speaks the benchmark's protocol, end to end, with a handful of tasks."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from bench.peers import AdapterFailed, Peer, known_peers
from bench.record import Sizes
from bench.server import Server, throw_away_server
from bench.works import Round
from rolecall.embedded.start import ServerOptions

TINY = Sizes(tasks=20, singles=3, latencies=5, preload=20, preload_seconds=60.0, drain_seconds=60.0)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with throw_away_server(ServerOptions()) as running:
        yield running


@pytest.fixture
def environment(server: Server, peer: Peer) -> dict[str, str]:
    server.empty()
    peer.ask("setup", environment=server.environment())
    return server.environment() | {"BENCH_DRAIN_TIMEOUT": "60"}


@pytest.fixture
def peer() -> Peer:
    return known_peers()["rolecall"]


def test_bulk_and_single_enqueues_store_their_tasks(server: Server, peer: Peer, environment: dict[str, str]) -> None:
    peer.ask("enqueue", "20", environment=environment)
    peer.ask("enqueue-single", "3", environment=environment)

    with psycopg.connect(server.dsn) as connection:
        assert connection.execute("select count(*) from rolecall.tasks").fetchone() == (23,)


def test_drain_runs_every_task_once_and_leaves_none(peer: Peer, environment: dict[str, str]) -> None:
    peer.ask("enqueue", "20", environment=environment)

    answer = peer.ask("drain", "20", environment=environment)

    assert (answer["executed"], answer["left"], answer["partial"]) == (20, 0, False)


def test_idle_worker_starts_every_latency_task(peer: Peer, environment: dict[str, str]) -> None:
    answer = peer.ask("latency", "--count", "5", environment=environment)

    # A task may begin before the call that enqueued it has returned: then its latency is below zero.
    assert (answer["ran"], answer["p50"] <= answer["p99"]) == (5, True)


def test_worker_that_cannot_start_is_an_error_and_not_a_measurement(
    server: Server, peer: Peer, environment: dict[str, str]
) -> None:
    with pytest.raises(AdapterFailed, match=r"nothing ran|worker exited"):
        peer.ask("drain", "1", environment=environment | {"BENCH_SLOTS": "0"})


def test_every_workload_of_a_round_produces_a_measurement(server: Server, peer: Peer) -> None:
    records = list(Round(server, peer, TINY, 0).measure(frozenset({"W1", "W2", "W5"})))

    assert [(record.work, record.problem) for record in records] == [("W1", None), ("W2", None), ("W5", None)]
    assert all(record.rate for record in records)
