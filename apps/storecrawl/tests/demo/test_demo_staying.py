"""`storecrawl demo` without --once: it stays up, shows how it goes, and ends in order."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest

from .conftest import COMMAND, PATIENCE, DemoFolder, eventually

APPLIED = "select count(*) from storecrawl.payloads where applied_at is not null"
PAYLOADS = "select count(*) from storecrawl.payloads"
SMALL = ("--stores", "2", "--step-seconds", "5")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_order_and_leaves_nothing_running(demo: DemoFolder, number: int) -> None:
    process = demo.start(*SMALL)
    eventually(lambda: demo.sees(APPLIED))

    process.send_signal(number)
    outcome = demo.end()

    assert (outcome.code, outcome.err) == (0, "")
    assert demo.processes() == []
    assert outcome.out.splitlines()[-1] == "Ended. storecrawl-data keeps everything: the next demo there goes on."


def test_it_fetches_every_store_again_and_again(demo: DemoFolder) -> None:
    """Covers SPEC 001-9 from the outside: the schedule, the fan-out, the fetches, the refreshes."""
    process = demo.start(*SMALL)

    eventually(lambda: (demo.sees(APPLIED) or 0) >= 5)
    process.terminate()

    assert demo.end().code == 0


def test_without_a_terminal_it_says_in_lines_how_it_goes(demo: DemoFolder) -> None:
    process = demo.start(*SMALL)
    eventually(lambda: demo.sees(APPLIED))
    process.terminate()

    lines = demo.end().out.splitlines()

    assert [line.split("s  ", 1)[1] for line in lines[:3]] == [
        "starting the upstream",
        "starting Postgres",
        "starting the workers",
    ]
    assert re.fullmatch(r" +\d+\.\d s  stores \d/\d  payloads \d+  products \d+  tasks \d+ done .*", lines[3])


def test_in_a_terminal_it_shows_one_board(demo: DemoFolder) -> None:
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [str(COMMAND), "demo", *SMALL],
        cwd=demo.cwd,
        env={**os.environ, "DATABASE_URL": "", "TERM": "xterm", "COLUMNS": "100", "LINES": "40"},
        stdin=follower,
        stdout=follower,
        stderr=follower,
        start_new_session=True,
    ) as process:
        os.close(follower)
        shown = _read_until(leader, rb"[1-9] / [1-9]")
        process.send_signal(signal.SIGINT)
        shown += _read_until(leader, rb"Ended\.")
    os.close(leader)
    assert process.returncode == 0

    for words in ("storecrawl demo", "a second", "logs", "Ctrl-C ends it", "stopping"):
        assert words.encode() in shown


def test_a_signal_in_the_middle_of_a_cycle_ends_it_and_the_next_cycle_goes_on(demo: DemoFolder) -> None:
    process = demo.start("--once", "--json", "--stores", "4")
    eventually(lambda: demo.sees(PAYLOADS))
    process.terminate()
    stopped = demo.end()
    left = demo.processes()

    finished = demo.run("--once", "--json")

    assert (stopped.code, stopped.out, left) == (128 + signal.SIGTERM, "", [])
    assert (finished.code, finished.summary["payloads"]) == (0, 4)


def test_a_cycle_after_a_stay_is_not_kept_busy_by_its_schedules(demo: DemoFolder) -> None:
    process = demo.start(*SMALL)
    eventually(lambda: demo.sees(APPLIED))
    process.terminate()
    demo.end()

    outcome = demo.run("--once", "--json")

    assert outcome.code == 0
    assert demo.value("select count(*) from rolecall.schedules") == 0


def test_a_second_demo_in_the_same_folder_is_refused(demo: DemoFolder) -> None:
    demo.start(*SMALL)
    eventually(lambda: demo.processes("worker"))

    second = subprocess.run([str(COMMAND), "demo", "--once"], cwd=demo.cwd, capture_output=True, text=True, check=False)

    assert second.returncode == 2
    assert "another demo is at work in" in second.stderr


def _read_until(terminal: int, pattern: bytes) -> bytes:
    shown = b""
    deadline = time.monotonic() + PATIENCE
    while not re.search(pattern, shown):
        ready, _, _ = select.select([terminal], [], [], deadline - time.monotonic())
        assert ready, f"never shown: {pattern!r}"
        shown += os.read(terminal, 4_096)
    return shown


def test_the_names_of_the_logs_are_true(demo: DemoFolder) -> None:
    process = demo.start(*SMALL)
    eventually(lambda: demo.sees(APPLIED))
    process.terminate()
    demo.end()

    assert "Claimed task" in _text(demo.data / "workers.log") or "completed" in _text(demo.data / "workers.log")
    assert "http://127.0.0.1:" in _text(demo.data / "upstream.log")


def _text(file: Path) -> str:
    return file.read_text()
