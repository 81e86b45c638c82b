"""The gate: every check and every test, in stages. Nothing is left out; a run that takes too long is incomplete.

    stage 1    `./dev check`, and the fast tests
    stage 2    all other tests, the slowest files first
    stage 3    example projects, Django, packaging on other Pythons, and the engine's tests on Debian's Postgres

The failed tests of a step run once more, one at a time. A test that passes then depends on the load of the machine, and
its step is reported as unstable. Exits with 0 if everything passed, 1 if a step failed, and 3 if the time was up before
all steps had run.
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

LIMIT_SECONDS = 86 * 60.0
# The time that pytest gets to report which tests have not run.
GRACE_SECONDS = 60.0
FAILED = 1
INCOMPLETE = 3
PROJECTS = ("tests/examples", "tests/guides/test_quickstart.py", "tests/django", "tests/packaging")


@dataclass(frozen=True, slots=True)
class Step:
    """A command of the gate. A `prepares` step may fail: the tests that need it say what is missing.

    `again` is the command that runs only the failed tests of the step.
    """

    name: str
    command: Sequence[str]
    prepares: bool = False
    again: Sequence[str] = ()


def _dev(*words: str) -> list[str]:
    return [sys.executable, str(ROOT / "dev"), *words]


def _tests(name: str, *words: str) -> Step:
    return Step(name, _dev(*words), again=_dev(*words, "--last-failed", "--last-failed-no-failures", "none", "-n", "1"))


STEPS = (
    Step("browser", _dev("browser"), prepares=True),
    Step("servers", _dev("servers"), prepares=True),
    Step("1: check", _dev("check")),
    _tests("1: fast tests", "test", "--fast"),
    _tests("2: other tests", "test", "--rest", *(f"--ignore={place}" for place in PROJECTS)),
    _tests("3: projects", "test", "--rest", *PROJECTS),
    _tests("3: engine on Debian's Postgres", "test-debian"),
)


def run_steps(steps: Sequence[Step], limit: float = LIMIT_SECONDS) -> int:
    """Run all steps, even after a failure, until `limit` seconds have passed; return the exit code."""
    end = time.monotonic() + limit
    failed, missing, unstable, figures = [], [], [], []
    for step in steps:
        began = time.monotonic()
        status = _run(step.command, end - began) if began < end else None
        if status and step.again and time.monotonic() < end:
            status = _run(step.again, end - time.monotonic())
            unstable += [step.name] if status == 0 else []
        if status is None:
            missing.append(step.name)
        elif status and not step.prepares:
            failed.append(step.name)
        figures.append(f"{step.name} {time.monotonic() - began:.0f} s")
    print(f"ci: {', '.join(figures)}")
    if unstable:
        print(f"ci: unstable, passed only on the second run: {', '.join(unstable)}")
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
