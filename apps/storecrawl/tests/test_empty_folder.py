"""The README's commands from an empty folder to a crawl, verbatim, in real processes."""

from __future__ import annotations

import logging
import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from apps.storecrawl.tests.demo import conftest as demo

README = Path(__file__).parents[1] / "README.md"
PORT = "8391"
# The README crawls more than this test needs.
STORES, FEWER = "--stores 8", "--stores 2 --menu-median 30"
SECONDS = 120
# Each look starts a process, which takes CPU from the crawl.
eventually = partial(demo.eventually, seconds=SECONDS, pause=3.0)

log = logging.getLogger(__name__)


class Shell:
    """A shell in a separate folder: `&` starts a background command, and `export` applies to all later ones."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        programs = str(Path(sys.executable).parent)
        ours = ("ROLECALL_", "STORECRAWL_", "WORKER_", "DATABASE_URL")
        self.environment = {name: text for name, text in os.environ.items() if not name.startswith(ours)}
        self.environment |= {"PATH": f"{programs}:{os.environ['PATH']}", "ROLECALL_HTTP": "127.0.0.1:0"}
        self.background: list[subprocess.Popen[bytes]] = []

    def run(self, line: str, *, codes: tuple[int, ...] = (0,)) -> str:
        words = shlex.split(line, comments=True)
        if words[0] == "export":
            self.environment |= [words[1].partition("=")[::2]]
        elif words[-1] == "&":
            self.background.append(subprocess.Popen(words[:-1], cwd=self._folder, env=self.environment))
        else:
            done = subprocess.run(
                words,
                cwd=self._folder,
                env=self.environment,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
            assert done.returncode in codes, (line, done.stdout, done.stderr)
            return done.stdout
        return ""

    def end(self) -> list[int]:
        """Stop the running commands, the last one first, and return the exit codes."""
        for process in reversed(self.background):
            process.send_signal(signal.SIGTERM)
            process.wait(SECONDS)
        return [process.returncode for process in self.background]


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    shell = Shell(tmp_path)
    yield shell
    for process in shell.background:
        if process.poll() is None:
            process.kill()
            process.wait()


def lines() -> list[str]:
    section = README.read_text("utf-8").partition("## From an empty folder\n")[2].partition("\n## ")[0]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = str(probe.getsockname()[1])
    return [
        line.strip().replace(PORT, free).replace(STORES, FEWER)
        for line in section.splitlines()
        if line.startswith("    ")
    ]


def has_no_problems(report: str) -> bool:
    log.warning(report)
    return "no problems" in report


def test_readme_steps_lead_from_an_empty_folder_to_a_crawl(shell: Shell, tmp_path: Path) -> None:
    *begin, states, payloads, doctor, psql = lines()
    for line in begin:
        if "storecrawl routes" in line:
            eventually(lambda: any((tmp_path / "rolecall-data").glob("postgres/data-*/postmaster.pid")))
        shell.run(line)

    eventually(lambda: "nothing was fetched" not in shell.run(payloads))
    assert "AZ" in shell.run(states)
    eventually(lambda: "(0 rows)" not in shell.run(psql))
    # On a busy machine, tasks wait so long that the doctor warns, or reports trouble (2), until the worker catches up.
    eventually(lambda: has_no_problems(shell.run(doctor, codes=(0, 1, 2))))
    assert shell.end() == [0, 0]
    assert not list(tmp_path.glob("rolecall-data/postgres/data-*/postmaster.pid"))
