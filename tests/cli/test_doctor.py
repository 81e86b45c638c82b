"""`rolecall doctor` tells people what is wrong, and monitoring by its exit code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.durability import durable

__all__ = ["durable"]

Sql = Callable[..., list[tuple[Any, ...]]]


@pytest.mark.usefixtures("durable")
def test_the_exit_code_says_how_bad_it_is(cli: Run, sql: Sql) -> None:
    assert (warned := cli("doctor", "--json")).code == 1
    assert [found["check"] for found in warned.json["findings"]] == ["partitions"]

    sql("select rolecall.make_partitions()")
    assert (fine := cli("doctor")).code == 0
    assert fine.out == "all is well: 18 checks\n"

    cli("enqueue", "add")
    assert (trouble := cli("doctor")).code == 2
    assert "no active worker serves the role" in trouble.out
