"""A worker's health in probes, health checks and systemd, with real processes."""

from __future__ import annotations

import os
import re
import signal
import socket
import struct
import time
from pathlib import Path

import httpx2
import pytest

from tests.cli.conftest import Run
from tests.cli.processes import Spawn, ended, read_until, until

# Closes a connection at once, without waiting for the other side.
RESET = struct.pack("ii", 1, 0)
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")


def test_worker_answers_probes_and_touches_its_file_until_it_exits(cli: Run, spawn: Spawn, folder: Path) -> None:
    worker = spawn("worker", "--app", "shop:app", "--health", "127.0.0.1:0", "--health-file", "health")
    result = read_until(worker, "Starting worker")
    [url] = ADDRESS.findall(result)

    until(lambda: cli("health", url, "health", "--ready").code == 0, "it is ready by both")
    assert httpx2.get(f"{url}/healthz").json() == {"status": "ok"}
    assert httpx2.get(f"{url}/elsewhere").status_code == 404
    assert cli("health", url, "health").code == 0

    worker.send_signal(signal.SIGTERM)
    assert ended(worker).code == 0
    assert not (folder / "health").exists()
    gone = cli("health", url, "health", "--json")
    assert gone.code == 1
    assert all("no worker found" in each["problem"] for each in gone.json)


def test_worker_without_its_database_is_alive_and_not_ready(spawn: Spawn) -> None:
    nowhere = "postgresql://nobody@127.0.0.1:1/none"
    worker = spawn("worker", "--app", "shop:app", "--health", "127.0.0.1:0", DATABASE_URL=nowhere)
    [url] = ADDRESS.findall(read_until(worker, "Probes are served"))

    def readiness() -> httpx2.Response:
        return httpx2.get(f"{url}/readyz")

    until(lambda: readiness().json().get("reason") == "the database does not answer", "it says what it lacks")
    assert readiness().status_code == 503
    assert httpx2.get(f"{url}/healthz").status_code == 200


def test_metrics_on_the_same_address_are_served_there(cli: Run, spawn: Spawn) -> None:
    where = "127.0.0.1:0"
    worker = spawn(
        "worker", "--app", "shop:app", "--health", where, "--metrics", where, DATABASE_URL=os.environ["DATABASE_URL"]
    )
    [url] = ADDRESS.findall(read_until(worker, "Starting worker"))

    assert "rolecall_slots_idle" in httpx2.get(f"{url}/metrics").text


def test_clients_that_close_their_connections_early_cause_no_traceback(cli: Run, spawn: Spawn) -> None:
    where = "127.0.0.1:0"
    worker = spawn(
        "worker", "--app", "shop:app", "--health", where, "--metrics", where, DATABASE_URL=os.environ["DATABASE_URL"]
    )
    [url] = ADDRESS.findall(read_until(worker, "Starting worker"))
    host, port = url.removeprefix("http://").split(":")
    for _ in range(50):
        with socket.create_connection((host, int(port))) as client:
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    until(lambda: httpx2.get(f"{url}/healthz").status_code == 200, "it still answers")

    worker.send_signal(signal.SIGTERM)
    assert "Traceback" not in ended(worker).err


def test_each_of_several_workers_has_its_own_health_file(cli: Run, spawn: Spawn, folder: Path) -> None:
    spawn("worker", "--app", "shop:app", "--processes", "2", "--health-file", "health")

    until(lambda: cli("health", "health.1", "health.2", "--ready").code == 0, "both are ready")
    assert not (folder / "health").exists()


def test_stale_health_file_means_an_unhealthy_worker(cli: Run, folder: Path) -> None:
    file = folder / "health"
    file.write_text("ready\n")
    fresh = cli("health", file)
    os.utime(file, (0, time.time() - 60))
    stale = cli("health", file)

    assert (fresh.code, stale.code) == (0, 1)
    assert "last healthy 60 s ago" in stale.out


def test_health_file_explains_why_a_worker_is_not_ready(cli: Run, folder: Path) -> None:
    file = folder / "health"
    file.write_text("not ready: it has the command to drain\n")

    assert cli("health", file).code == 0
    done = cli("health", file, "--ready")
    assert (done.code, "it has the command to drain" in done.out) == (1, True)


def test_systemd_is_notified_that_the_worker_runs_and_is_alive(cli: Run, spawn: Spawn, folder: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as door:
        door.bind(str(folder / "notify"))
        door.settimeout(60)
        spawn("worker", "--app", "shop:app", NOTIFY_SOCKET=str(folder / "notify"), WATCHDOG_USEC="200000")
        result = ""
        while "STATUS=works" not in result:
            result = door.recv(1_000).decode()

    assert {"READY=1", "WATCHDOG=1"} <= set(result.splitlines())


@pytest.mark.parametrize(
    ("flags", "named"),
    [(("--health-file", "nowhere/health"), "--health-file"), (("--health", "127.0.0.1:{port}"), "--health")],
)
def test_invalid_health_option_is_named(cli: Run, flags: tuple[str, ...], named: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        words = [flag.format(port=taken.getsockname()[1]) for flag in flags]

        done = cli("worker", "--app", "shop:app", "--until-idle", *words)

    assert done.code == 2
    assert named.removeprefix("--").replace("-", "_").upper() in done.err
    assert "Traceback" not in done.err
