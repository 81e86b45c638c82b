"""Unknown clients cannot hold up a server: real processes, raw sockets."""

from __future__ import annotations

import resource
import socket
import sys
from collections.abc import Sequence

import httpx2
import psutil
import pytest

from tests.cli.attackers import GET, Attacker, answer_to, attacking, connections, is_closed, open_to
from tests.cli.processes import Spawn, document, read_until, until

PROBES = 20
# The buffers of the kernel at both ends are filled before a server notices anything.
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
    """This process has one end of all connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 4 * HALVES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4 * HALVES), hard))


@pytest.mark.parametrize("number", [1, 4])
def test_other_clients_are_served_during_an_endless_header(launch: Spawn, dsn: str, number: int) -> None:
    server = launch(*SERVE, DATABASE_URL=dsn)
    url = str(document(server)["http"])
    before = psutil.Process(server.pid).memory_info().rss

    with attacking(url, number, GET + b"X-A: ", b"a" * 65_536) as attackers:
        # A client that may keep sending slows the server down more and more, so do not wait for it.
        answers = [probe(url) for _ in range(PROBES) if not sends_on(attackers)]
        until(lambda: sends_on(attackers) or all(each.cut_off for each in attackers), "each attacker is cut off")
        grown = psutil.Process(server.pid).memory_info().rss - before

    assert answers == [200] * PROBES
    assert not sends_on(attackers)
    assert grown < 100 * 1024 * 1024


@pytest.mark.parametrize("under", [":", f"ulimit -n {FEW_FILES}"])
def test_probes_are_answered_during_a_thousand_incomplete_requests(
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
    read_until(server, "Connections were closed")


MIB = 1024 * 1024
BODIES = 25
MOST_CPU_SECONDS = 0.020
JSON, FORM = b"application/json", b"application/x-www-form-urlencoded"
HOSTILE: dict[str, tuple[bytes, bytes]] = {
    f"{name}, {size >> 10} kB": (kind, make(size))
    for size in (16_000, MIB - 100)
    for name, kind, make in (
        ("wide", JSON, lambda size: b"[" + b"[]," * (size // 3 - 1) + b"1]"),
        ("deep", JSON, lambda size: b"[" * (size // 2) + b"]" * (size // 2)),
        ("60 deep and wide", JSON, lambda size: b"[" * 60 + b"[]," * (size // 3 - 50) + b"1" + b"]" * 60),
        ("objects", JSON, lambda size: b"[" + b"{}," * (size // 3 - 1) + b"1]"),
        ("numbers", JSON, lambda size: b"[" + b"1," * (size // 2 - 1) + b"1]"),
        ("floats", JSON, lambda size: b"[" + b"1e9," * (size // 4 - 1) + b"1]"),
        ("one text", JSON, lambda size: b'{"name": "' + b"x" * (size - 20) + b'"}'),
        ("form of many fields", FORM, lambda size: b"&".join([b"a=1"] * (size // 4))),
        ("form of 990 fields", FORM, lambda size: b"&".join([b"a=" + b"1" * (size // 990 - 3)] * 990)),
    )
}


def request_of(path: bytes, kind: bytes, framing: bytes) -> bytes:
    head = b"POST " + path + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: " + kind + b"\r\n"
    return head + framing + b"\r\n\r\n"


def cpu_seconds(server: psutil.Process) -> float:
    times = server.cpu_times()
    return float(times.user + times.system)


def send_all(url: str, sent: bytes) -> bytes:
    """Send a request on its own connection, and return the beginning of the response."""
    with open_to(url) as connection:
        try:
            connection.sendall(sent)
            return connection.recv(65_536)
        except ConnectionError:
            return b""


def cost_of(server: psutil.Process, url: str, sent: bytes) -> tuple[float, set[bytes]]:
    """Return the server's CPU seconds for each of many such requests, and the responses."""
    probe(url)
    before = cpu_seconds(server)
    answers = [send_all(url, sent) for _ in range(BODIES)]
    return (cpu_seconds(server) - before) / BODIES, {answer[9:12] for answer in answers}


def test_hostile_body_of_an_unknown_client_costs_at_most_20_ms_cpu(launch: Spawn, dsn: str) -> None:
    process = launch(*SERVE, DATABASE_URL=dsn)
    server, url = psutil.Process(process.pid), str(document(process)["http"])
    paths = {JSON: (b"/api/login", b"/api/tasks"), FORM: (b"/login",)}

    costs, answers = {}, set()
    for name, (kind, body) in HOSTILE.items():
        for path in paths[kind]:
            sent = request_of(path, kind, b"Content-Length: %d" % len(body)) + body
            costs[name, path], seen = cost_of(server, url, sent)
            answers |= seen

    assert {about: cost for about, cost in costs.items() if cost > MOST_CPU_SECONDS} == {}
    assert answers <= {b"400", b"401", b"422"}


@pytest.mark.parametrize("size", [1, 8])
def test_tiny_chunks_body_is_rejected_and_costs_at_most_20_ms_cpu(launch: Spawn, dsn: str, size: int) -> None:
    process = launch(*SERVE, DATABASE_URL=dsn)
    server, url = psutil.Process(process.pid), str(document(process)["http"])
    head = request_of(b"/api/login", JSON, b"Transfer-Encoding: chunked")
    tiny, fit = (
        head + (b"%x\r\n" % each + b" " * each + b"\r\n") * (12_000 // each) + b"4\r\nnull\r\n0\r\n\r\n"
        for each in (size, 16)
    )

    cost, answers = cost_of(server, url, tiny)
    _, taken = cost_of(server, url, fit)

    assert cost <= MOST_CPU_SECONDS
    assert answers <= {b"400", b""}
    assert taken == {b"422"}
    read_until(process, "in tiny chunks")


def test_too_slow_client_gets_a_timeout_response_and_is_disconnected(launch: Spawn, dsn: str) -> None:
    server = launch(*SERVE, DATABASE_URL=dsn)
    url = str(document(server)["http"])

    with open_to(url) as silent, open_to(url) as slow:
        slow.sendall(GET)
        nothing, result = answer_to(silent), answer_to(slow)

    assert nothing == b""
    assert result.startswith(b"HTTP/1.1 408 Request Timeout\r\n")


def test_server_raises_its_open_file_limit_to_the_kernel_maximum(launch: Spawn, dsn: str) -> None:
    soft = min(2_048, resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 1)
    server = launch("/bin/sh", "-c", f'ulimit -Sn {soft}; exec "$@"', "sh", *SERVE, DATABASE_URL=dsn)
    url = str(document(server)["http"])
    until(lambda: probe(url) == 200, "it answers")

    now, most = psutil.Process(server.pid).rlimit(psutil.RLIMIT_NOFILE)

    assert now == most > soft
