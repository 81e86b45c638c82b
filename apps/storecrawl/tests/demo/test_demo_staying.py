"""`storecrawl demo` without --once: it keeps running, shows its progress, and ends in order."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pytest

from .conftest import COMMAND, PATIENCE, DemoFolder, Outcome, eventually

APPLIED = "select count(*) from storecrawl.payloads where applied_at is not null"
PAYLOADS = "select count(*) from storecrawl.payloads"
STORES = 2
DUTCHIE = ("--platforms", "dutchie")
SMALL = ("--stores", str(STORES), "--step-seconds", "5", "--processes", "1", *DUTCHIE)
GOODBYE = "Stopped. All data is in storecrawl-data; the next demo there continues."


@dataclass(frozen=True, slots=True)
class Stay:
    """A folder after a demo without --once: its outcome, and that of a second demo at the same time."""

    demo: DemoFolder
    outcome: Outcome
    second: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def stay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stay]:
    """A demo that has fetched stores more than once, rejected a second demo, and was terminated."""
    demo = DemoFolder(tmp_path_factory.mktemp("stay"))
    try:
        process = demo.start(*SMALL)
        eventually(lambda: (demo.sees(APPLIED) or 0) > 2 * STORES)
        again = [str(COMMAND), "demo", "--once"]
        second = subprocess.run(again, cwd=demo.cwd, capture_output=True, text=True, check=False)
        process.terminate()
        yield Stay(demo, demo.end(), second)
    finally:
        demo.clear()


def test_output_without_a_terminal_is_line_based_until_sigterm(stay: Stay) -> None:
    outcome = stay.outcome

    assert (outcome.code, outcome.err) == (0, "")
    stay.demo.expect_nothing_left()
    notes = [line.split(" s  ", 1)[-1] for line in outcome.out.splitlines()]
    assert notes[:3] == ["starting the upstream", "starting Postgres", "starting the dashboard"]
    assert re.fullmatch(r"dashboard: http://127\.0\.0\.1:\d+/enter\?token=rl_\S+", notes[3])
    assert notes[4] == "starting the workers"
    assert re.fullmatch(r"stores \d/\d  payloads \d+  products \d+  tasks \d+ done .* \d+\.\d/s", notes[5])
    assert notes[-2:] == ["stopping; running tasks may finish", GOODBYE]


def test_terminal_shows_one_updating_board_until_ctrl_c(demo: DemoFolder) -> None:
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [str(COMMAND), "demo", "--stores", str(STORES), "--processes", "1", "--no-api", *DUTCHIE],
        cwd=demo.cwd,
        env={**os.environ, "DATABASE_URL": "", "TERM": "xterm", "COLUMNS": "100", "LINES": "40"},
        stdin=follower,
        stdout=follower,
        stderr=follower,
        preexec_fn=partial(_take_terminal, follower),  # noqa: PLW1509 - this test has no threads
    ) as process:
        os.close(follower)
        shown = _read_until(leader, rb"[1-9] / [1-9]")
        os.write(leader, b"\x03")
        shown += _read_until(leader, rb"Stopped\.")
    os.close(leader)

    assert process.returncode == 0
    demo.expect_nothing_left()
    for words in ("storecrawl demo", "per second", "workers.log", "Ctrl-C to stop", "stopping"):
        assert words.encode() in shown


def test_demo_keeps_fetching_every_store_until_a_single_cycle_is_requested(stay: Stay) -> None:
    """It has fetched more often than there are stores."""
    cycle = stay.demo.run("--once", "--json", "--no-api", "--processes", "1", *DUTCHIE)

    assert (stay.outcome.code, cycle.code) == (0, 0)
    assert stay.demo.value("select count(*) from rolecall.schedules") == 0


def test_signal_during_a_cycle_ends_it_and_the_next_cycle_continues(demo: DemoFolder) -> None:
    process = demo.start("--once", "--json", "--no-api", "--slots", "1", "--processes", "1", "--stores", "3", *DUTCHIE)
    eventually(lambda: demo.sees(PAYLOADS))
    process.terminate()
    stopped = demo.end()
    demo.expect_nothing_left()

    finished = demo.run("--once", "--json", "--no-api", "--processes", "1", *DUTCHIE)

    assert (stopped.code, stopped.out) == (128 + signal.SIGTERM, "")
    assert (finished.code, finished.summary["payloads"]) == (0, 3)


def test_second_demo_in_the_same_folder_is_rejected(stay: Stay) -> None:
    assert stay.second.returncode == 2
    assert "another demo is running in" in stay.second.stderr


def _take_terminal(terminal: int) -> None:
    """Take the terminal for this session, so that a Ctrl-C typed there becomes a signal."""
    os.setsid()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


def _read_until(terminal: int, pattern: bytes) -> bytes:
    shown = b""
    deadline = time.monotonic() + PATIENCE
    while not re.search(pattern, shown):
        ready, _, _ = select.select([terminal], [], [], deadline - time.monotonic())
        assert ready, f"never shown: {pattern!r}"
        shown += os.read(terminal, 4_096)
    return shown
