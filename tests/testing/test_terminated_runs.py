"""A test run that is terminated or killed leaves no server running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from rolecall.embedded.process import wait_until
from rolecall.testing import memory
from tools.offences import ROOT

SERVERS = ("postgres", "pgbouncer", "redis-server", "nats-server")
PATIENCE = 90.0
WAITING = """
import signal
from pathlib import Path


def test_that_waits(pgbouncer, redis_server, nats_server):
    Path("waiting").touch()
    signal.pause()
"""
CONFTEST = "from tests.servers import pgbouncer\nfrom tests.brokers import nats_server, redis_server\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one test, which starts all servers and then waits."""
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p rolecall.testing.plugin --import-mode=importlib\n")
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_waiting.py").write_text(WAITING)
    return tmp_path


@pytest.fixture(params=[0, 1], ids=["alone", "xdist"])
def run(request: pytest.FixtureRequest, project: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run of that test, without and with pytest-xdist, at the moment when the servers run."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment.pop("PYTEST_XDIST_WORKER", None)
    environment.pop("ROLECALL_TEST_SERVER", None)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "xdist",
        "-n",
        str(request.param),
        "--basetemp",
        str(project / "tmp"),
    ]
    with subprocess.Popen(command, cwd=project, env=environment, stdout=subprocess.DEVNULL) as process:
        try:
            assert wait_until((project / "waiting").exists, PATIENCE)
            yield process
        finally:
            process.kill()


def servers_of(run: subprocess.Popen[bytes], project: Path) -> dict[str, psutil.Process]:
    """Return the servers that a run has started, by name."""
    # The embedded server is detached from the run, and its command line names its folder.
    folders = (f"{project}/", f"{memory.PREFIX}{run.pid}/")
    detached = [
        each
        for each in psutil.process_iter(["name", "cmdline"])
        if any(folder in " ".join(each.info["cmdline"] or ()) for folder in folders)
    ]
    started = psutil.Process(run.pid).children(recursive=True)
    return {each.name(): each for each in (*started, *detached) if each.name() in SERVERS}


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["terminated", "killed"])
def test_ended_run_leaves_no_server(run: subprocess.Popen[bytes], project: Path, how: signal.Signals) -> None:
    servers = servers_of(run, project)
    assert servers.keys() == set(SERVERS)

    run.send_signal(how)
    run.wait(PATIENCE)

    _, alive = psutil.wait_procs(servers.values(), PATIENCE)
    assert not alive
