"""The gate: every check and every test, in stages. Nothing is left out; a run that takes too long is incomplete.

    stage 1    `./dev check`, and the fast tests
    stage 2    all other tests, the slowest files first
    stage 3    example projects, Django, packaging on other Pythons, and the engine's tests on Debian's Postgres

Exits with 0 if everything passed, 1 if a step failed, and 3 if the time was up before all steps had run.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from tools.offences import ROOT

LIMIT_SECONDS = 80 * 60.0
# The time that pytest gets to report which tests have not run.
GRACE_SECONDS = 60.0
FAILED = 1
INCOMPLETE = 3
PROJECTS = ("tests/examples", "tests/guides/test_quickstart.py", "tests/django", "tests/packaging")


@dataclass(frozen=True, slots=True)
class Step:
    """A command of the gate. A `prepares` step may fail: the tests that need it say what is missing."""

    name: str
    command: Sequence[str]
    prepares: bool = False


def _dev(*words: str) -> list[str]:
    return [sys.executable, str(ROOT / "dev"), *words]


STEPS = (
    Step("browser", _dev("browser"), prepares=True),
    Step("servers", _dev("servers"), prepares=True),
    Step("1: check", _dev("check")),
    Step("1: fast tests", _dev("test", "--fast")),
    Step("2: other tests", _dev("test", "--rest", *(f"--ignore={place}" for place in PROJECTS))),
    Step("3: projects", _dev("test", "--rest", *PROJECTS)),
    Step("3: engine on Debian's Postgres", _dev("test-debian")),
)


def run_steps(steps: Sequence[Step], limit: float = LIMIT_SECONDS) -> int:
    """Run all steps, even after a failure, until `limit` seconds have passed; return the exit code."""
    end = time.monotonic() + limit
    failed, missing, figures = [], [], []
    for step in steps:
        began = time.monotonic()
        status = _run(step.command, end - began) if began < end else None
        if status is None:
            missing.append(step.name)
        elif status and not step.prepares:
            failed.append(step.name)
        figures.append(f"{step.name} {time.monotonic() - began:.0f} s")
    print(f"ci: {', '.join(figures)}")
    if failed:
        print(f"ci: failed: {', '.join(failed)}")
    if missing:
        print(f"ci: incomplete after {limit / 60:.0f} minutes, not finished: {', '.join(missing)}")
    return INCOMPLETE if missing else FAILED if failed else 0


def _run(command: Sequence[str], seconds: float) -> int | None:
    """Run a command; return its exit code, or None if it had to be interrupted."""
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True) as process:
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
    return None


if __name__ == "__main__":
    sys.exit(run_steps(STEPS))
