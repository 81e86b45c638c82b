"""`rolecall doctor` reports problems in its output and by its exit code."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.durability import durable

__all__ = ["durable"]

Sql = Callable[..., list[tuple[Any, ...]]]
KIOSK = """
from rolecall import App, Finding, Severity


async def till(connection):
    return [Finding(severity=Severity.WARNING, problem="the till is open", advice="close it")]


app = App("kiosk", checks=[till])
"""


@pytest.mark.usefixtures("durable")
def test_exit_code_reflects_the_severity(cli: Run, sql: Sql) -> None:
    assert (warned := cli("doctor", "--json")).code == 1
    assert [found["check"] for found in warned.json["findings"]] == ["partitions"]

    sql("select rolecall.make_partitions()")
    assert (fine := cli("doctor")).code == 0
    assert re.fullmatch(r"no problems: \d\d checks\nworkers are notified by Postgres\n", fine.out)

    cli("enqueue", "add")
    sql("update rolecall.tasks set created_at = created_at - interval '1 min'")
    sql("update rolecall.tasks set scheduled_for = created_at")
    trouble = cli("doctor", "--json")
    assert trouble.code == 2
    [problem] = trouble.json["findings"]
    assert (problem["problem"], problem["count"]) == ("No worker is running; 1 task waits in role sums.", 1)
    assert [alert["sentence"] for alert in cli("overview", "--json").json["alerts"]] == [problem["problem"]]


@pytest.mark.usefixtures("durable")
@pytest.mark.parametrize("command", ["doctor", "overview"])
def test_checks_of_an_app_run_if_it_is_named(
    cli: Run, sql: Sql, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    sql("select rolecall.make_partitions()")
    (tmp_path / "kiosk.py").write_text(KIOSK)
    monkeypatch.syspath_prepend(tmp_path)

    named, unnamed = cli(command, "--app", "kiosk:app"), cli(command)

    assert ("the till is open" in named.out.lower(), "the till is open" in unnamed.out.lower()) == (True, False)
    assert (named.code, unnamed.code) == ((1, 0) if command == "doctor" else (0, 0))
