"""The gate runs every step: a failed one makes it fail, and one that has no time makes it incomplete."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools.ci import FAILED, INCOMPLETE, STEPS, Step, run_steps

LONG = 60.0


def python(name: str, code: str, *, prepares: bool = False) -> Step:
    return Step(name, [sys.executable, "-c", code], prepares=prepares)


def test_steps_after_a_failed_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mark = tmp_path / "mark"
    steps = [python("broken", "raise SystemExit(2)"), python("next", f"open({str(mark)!r}, 'w')")]

    assert run_steps(steps, LONG) == FAILED
    assert mark.exists()
    assert "ci: failed: broken\n" in capsys.readouterr().out


def test_failed_preparation_is_ignored() -> None:
    assert run_steps([python("browser", "raise SystemExit(2)", prepares=True), python("check", "")], LONG) == 0


def test_run_without_time_is_incomplete_and_names_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    steps = [python("slow", "import time; time.sleep(600)"), python("next", "")]

    assert run_steps(steps, 0.5) == INCOMPLETE
    assert "not finished: slow, next\n" in capsys.readouterr().out


@pytest.mark.parametrize(("code", "expected"), [("", 0), ("raise SystemExit(1)", FAILED)])
def test_failed_tests_run_once_more(code: str, expected: int, capsys: pytest.CaptureFixture[str]) -> None:
    step = Step("tests", [sys.executable, "-c", "raise SystemExit(1)"], again=[sys.executable, "-c", code])

    assert run_steps([step], LONG) == expected
    assert ("ci: unstable, passed only on the second run: tests\n" in capsys.readouterr().out) == (expected == 0)


def test_every_step_of_the_gate_is_a_verb_of_dev() -> None:
    assert {step.command[2] for step in STEPS} == {"browser", "servers", "check", "test", "test-debian"}
