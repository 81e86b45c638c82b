"""The local upstream as a separate process, and its control endpoints."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest
from storecrawl.demo.upstream import LocalUpstream, UpstreamOptions

from .conftest import SMALL_WORLD, ClientFor

COMMAND = [sys.executable, "-m", "storecrawl.demo.upstream"]
STARTER = """
import os, subprocess, sys, time
child = subprocess.Popen([*sys.argv[1:], "--parent", str(os.getpid())], stdout=subprocess.PIPE, text=True)
print(child.pid, child.stdout.readline(), end="", flush=True)
time.sleep(60)
"""


@contextmanager
def started_process(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_process_prints_its_url_and_responds_there(client_for: ClientFor) -> None:
    with started_process("--stores", "4", "--seed", "9") as (_, url):
        stores = await client_for(url).stores()

    assert len(stores) == 4


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_process_stops_gracefully_on_a_signal(number: signal.Signals) -> None:
    with started_process("--stores", "2") as (process, _):
        process.send_signal(number)

        assert process.wait(timeout=40) == 0


def test_process_exits_when_its_parent_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", STARTER, *COMMAND], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline().split()[0])
        parent.kill()

    deadline = time.monotonic() + 40
    while is_running(child):
        assert time.monotonic() < deadline, "the upstream outlives its parent"
        time.sleep(0.05)


def test_restarted_process_with_the_same_epoch_continues_in_time() -> None:
    epoch = str(time.time() - 500)
    for _ in range(2):
        with started_process("--stores", "2", "--step-seconds", "100", "--epoch", epoch) as (_, url):
            assert httpx2.get(f"{url}/_control/stats", trust_env=False, timeout=40).json()["step"] >= 5


def test_invalid_settings_are_a_usage_error() -> None:
    done = subprocess.run([*COMMAND, "--stores", "0"], capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "stores must be at least 1" in done.stderr


async def test_port_in_use_raises_at_entry(upstream: LocalUpstream) -> None:
    taken = int(upstream.url.rsplit(":", 1)[1])

    with pytest.raises(OSError, match="in use"):
        await LocalUpstream(UpstreamOptions(port=taken, stores=1)).__aenter__()


async def test_stopped_upstream_releases_its_port() -> None:
    async with LocalUpstream(SMALL_WORLD) as upstream:
        port = int(upstream.url.rsplit(":", 1)[1])

    async with LocalUpstream(UpstreamOptions(port=port, stores=1)) as again:
        assert again.url.endswith(f":{port}")


async def test_control_endpoint_advances_time(upstream: LocalUpstream) -> None:
    async with httpx2.AsyncClient(base_url=upstream.url, trust_env=False) as http:
        assert (await http.post("/_control/advance")).json() == {"step": 1}
        assert (await http.post("/_control/advance", json={"steps": 5})).json() == {"step": 6}


async def test_control_endpoint_sets_the_failure_dial(upstream: LocalUpstream) -> None:
    dial = {"failure_rate": 1.0, "weights": {"blocked": 1.0}}
    async with httpx2.AsyncClient(base_url=upstream.url, trust_env=False) as http:
        set_to = (await http.post("/_control/failures", json=dial)).json()
        answer = await http.post("/graphql", json={"query": "{ __typename }"})

    assert (set_to["failure_rate"], set_to["weights"], set_to["slow_seconds"]) == (1.0, {"blocked": 1.0}, 2.0)
    assert (answer.status_code, upstream.stats()["faults"]["blocked"]) == (403, 1)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("failures", {"failure_rate": 2}),
        ("failures", {"weights": {"meteor": 1}}),
        ("failures", {"weights": {"cut": -1}}),
        ("advance", {"steps": -1}),
        ("advance", {"steps": "many"}),
    ],
)
async def test_invalid_control_request_is_rejected(upstream: LocalUpstream, path: str, body: dict[str, object]) -> None:
    async with httpx2.AsyncClient(base_url=upstream.url, trust_env=False) as http:
        answer = await http.post(f"/_control/{path}", json=body)

    assert answer.status_code == 400
    assert answer.json()["error"]
