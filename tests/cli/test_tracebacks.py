"""A failed task's traceback is logged if the settings request it."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Run

STONE = 'raise ValueError("over a stone")'


@pytest.mark.parametrize(("output", "result"), [({}, False), ({"ROLECALL_LOG_TRACEBACKS": "yes"}, True)])
def test_log_line_of_a_failed_task_includes_its_traceback_on_request(
    cli: Run, execute: Run, output: dict[str, str], result: bool
) -> None:
    cli("enqueue", "stumble", "--role", "sums", "--max-attempts", "1")

    done = execute("worker", "--app", "shop:app", "--until-idle", **output)

    assert done.code == 1
    assert "ValueError: over a stone" in done.err
    assert (STONE in done.err) == result
