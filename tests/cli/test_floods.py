"""Nobody holds up a server by what he sends before there is a request: real processes, raw sockets."""

from __future__ import annotations

import resource
import socket
import sys
from collections.abc import Sequence

import httpx2
import psutil
import pytest

from tests.cli.attackers import GET, Attacker, answer_to, attacking, connections, is_closed, open_to
from tests.cli.processes import Spawn, document, told_until, until

PROBES = 20
# What the kernel holds of a connection at both ends is sent before anybody notices.
KERNEL = 16 * 1024 * 1024
FEW_FILES = 1_024
HALVES = 1_100
SERVE = (sys.executable, "-m", "rolecall.cli", "serve", "--port", "0", "--json")


def sends_on(attackers: Sequence[Attacker]) -> bool:
    return max(attacker.most_sent for attacker in attackers) >= KERNEL


def probe(url: str) -> int:
    return httpx2.get(f"{url}/healthz", timeout=30).status_code


@pytest.fixture
def many_files() -> None:
    """This process holds one end of all connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 4 * HALVES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4 * HALVES), hard))


@pytest.mark.parametrize("number", [1, 4])
def test_others_are_answered_while_somebody_sends_a_header_without_an_end(launch: Spawn, dsn: str, number: int) -> None:
    server = launch(*SERVE, DATABASE_URL=dsn)
    url = str(document(server)["http"])
    before = psutil.Process(server.pid).memory_info().rss

    with attacking(url, number, GET + b"X-A: ", b"a" * 65_536) as attackers:
        # One who is let send on slows the server down more and more: then there is nothing to wait for.
        answers = [probe(url) for _ in range(PROBES) if not sends_on(attackers)]
        until(lambda: sends_on(attackers) or all(each.cut_off for each in attackers), "each attacker is cut off")
        grown = psutil.Process(server.pid).memory_info().rss - before

    assert answers == [200] * PROBES
    assert not sends_on(attackers)
    assert grown < 100 * 1024 * 1024


@pytest.mark.parametrize("under", [":", f"ulimit -n {FEW_FILES}"])
def test_probes_are_answered_while_a_thousand_connections_send_half_a_request(
    launch: Spawn, dsn: str, many_files: None, under: str
) -> None:
    server = launch("/bin/sh", "-c", f'{under}; exec "$@"', "sh", *SERVE, DATABASE_URL=dsn)
    url = str(document(server)["http"])

    def half() -> socket.socket:
        connection = open_to(url)
        connection.sendall(GET + b"X-A: ")
        return connection

    with connections(half, HALVES) as opened:
        answers = [probe(url) for _ in range(PROBES)]
        crowded_out = sum(map(is_closed, opened))

    assert answers == [200] * PROBES
    assert crowded_out >= 100
    told_until(server, "Connections were refused")


def test_a_client_that_is_too_slow_is_told_so_and_closed(launch: Spawn, dsn: str) -> None:
    server = launch(*SERVE, DATABASE_URL=dsn)
    url = str(document(server)["http"])

    with open_to(url) as silent, open_to(url) as slow:
        slow.sendall(GET)
        nothing, told = answer_to(silent), answer_to(slow)

    assert nothing == b""
    assert told.startswith(b"HTTP/1.1 408 Request Timeout\r\n")


def test_a_server_may_have_as_many_files_open_as_the_kernel_lets_it(launch: Spawn, dsn: str) -> None:
    soft = min(2_048, resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 1)
    server = launch("/bin/sh", "-c", f'ulimit -Sn {soft}; exec "$@"', "sh", *SERVE, DATABASE_URL=dsn)
    url = str(document(server)["http"])
    until(lambda: probe(url) == 200, "it answers")

    now, most = psutil.Process(server.pid).rlimit(psutil.RLIMIT_NOFILE)

    assert now == most > soft
