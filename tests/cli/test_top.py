"""`rolecall top`: one snapshot, repeated snapshots, and the terminal screen."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.processes import Spawn, ended, until

ALTERNATE_SCREEN = b"\x1b[?1049h"
MAIN_SCREEN = b"\x1b[?1049l"


@pytest.fixture
def busy(cli: Run, sql: Callable[..., list[tuple[Any, ...]]]) -> None:
    """Two ready tasks of a role, and one that has failed."""
    cli("enqueue", "stumble", "--role", "sums", "--max-attempts", "1")
    cli("worker", "--app", "shop:app", "--until-idle")
    for number in range(2):
        cli("enqueue", "add", json.dumps({"a": number, "b": 1}), "--role", "sums")


@contextmanager
def terminal(folder: Path, *words: str) -> Iterator[tuple[subprocess.Popen[bytes], Callable[[bytes], bytes]]]:
    """Run the command in a terminal, and return the output once there is some."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 140, 0, 0))
    command = [sys.executable, "-m", "rolecall.cli", *words]
    environ = os.environ | {"TERM": "xterm-256color"}
    with subprocess.Popen(
        command, cwd=folder, env=environ, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ) as process:
        os.close(theirs)
        drawn = b""

        def drawn_until(text: bytes) -> bytes:
            nonlocal drawn
            while text not in drawn:
                drawn += os.read(ours, 65_536)
            return drawn

        try:
            yield process, drawn_until
        finally:
            process.kill()
            os.close(ours)


@pytest.mark.usefixtures("busy")
def test_single_screen_shows_roles_workers_and_failures(cli: Run) -> None:
    done = cli("top", "--once")

    assert done.code == 0
    [role] = [line.split() for line in done.out.splitlines() if line.split()[:1] == ["sums"]]
    assert role[1:4] == ["2", "0", "0"]
    assert "no workers" in done.out
    assert "ValueError: over a stone" in done.out


@pytest.mark.usefixtures("busy")
def test_single_screen_is_available_as_json(cli: Run) -> None:
    look = cli("top", "--once", "--json").json

    assert look["overview"]["figures"]["ready"] == 2
    assert [task["handler"] for task in look["failures"]] == ["stumble"]
    assert look["workers"] == []


def test_running_tasks_of_a_worker_are_named(cli: Run, spawn: Spawn, folder: Path) -> None:
    (folder / "shop.py").write_text(
        (folder / "shop.py").read_text() + "\n\n@app.task(role='sums')\nasync def stay() -> None:\n"
        "    import asyncio\n    await asyncio.sleep(600)\n"
    )
    worker = spawn("worker", "--app", "shop:app", "--worker-id", "wilma", "--grace", "0")
    cli("enqueue", "stay", "--role", "sums")

    until(lambda: "stay" in cli("top", "--once").out.partition("runs")[2], "the worker's task is named")
    assert "wilma" in cli("top", "--once").out
    worker.send_signal(signal.SIGTERM)
    assert ended(worker).code == 0


def test_terminal_screen_is_redrawn_until_ctrl_c(cli: Run, folder: Path) -> None:
    with terminal(folder, "top", "--every", "0.2") as (process, drawn_until):
        assert ALTERNATE_SCREEN in drawn_until(b"no workers")
        cli("enqueue", "add", '{"a": 1, "b": 2}', "--role", "sums")
        drawn_until(b"ready 1")

        process.send_signal(signal.SIGINT)

        drawn_until(MAIN_SCREEN)
        assert process.wait(30) == 0


def test_output_without_a_terminal_is_appended(spawn: Spawn, cli: Run) -> None:
    watching = spawn("top", "--every", "0.2")
    assert watching.stdout is not None
    heads = 0
    while heads < 2:
        heads += "failed in the last hour" in watching.stdout.readline()

    watching.send_signal(signal.SIGINT)
    done = ended(watching)

    assert (done.code, "\x1b" in done.out) == (0, False)


def test_invalid_interval_is_rejected(cli: Run) -> None:
    done = cli("top", "--every", "0")

    assert (done.code, "--every: must be at least 0.2 s" in done.err) == (2, True)
