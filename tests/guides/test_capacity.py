"""docs/guides/capacity.md: each command works and prints the documented output."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from rolecall.cli.main import run
from rolecall.testing import Clock
from tests.durability import durable
from tests.guides.blocks import blocks

__all__ = ["durable"]

Connection = psycopg.Connection[Any]
GUIDE = "capacity.md"


def ask(connection: Connection, query: str, *params: object) -> Sequence[tuple[Any, ...]]:
    return connection.execute(query.encode(), params).fetchall()


@pytest.fixture
def pool(connection: Connection, database: str, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """500 tasks wait, and one worker has done ten in 72 s each."""
    monkeypatch.setenv("DATABASE_URL", database)
    clock.set(datetime(2026, 1, 1, tzinfo=UTC))
    ask(connection, "select rolecall.make_partitions()")
    ask(connection, "select rolecall.declare(%s)", Jsonb([{"name": "resize"}]))
    ask(connection, "select rolecall.enqueue_many(%s)", Jsonb([{"role": "resize"}] * 10))
    [(worker,)] = ask(connection, "select rolecall.register_worker('w', '{}', '{resize}', 1, 'h', 1, '0')")
    for _ in range(10):
        [(task_id, fence)] = ask(connection, "select id, fence from rolecall.claim(%s, '{}', '{resize}', 1)", worker)
        clock.advance(seconds=72)
        report = {"id": task_id, "fence": fence, "outcome": "completed"}
        ask(connection, "select from rolecall.finish(%s, %s)", worker, Jsonb([report]))
    ask(connection, "select rolecall.enqueue_many(%s)", Jsonb([{"role": "resize"}] * 500))
    ask(connection, "select from rolecall.beat(%s, 0, false)", worker)


def commands() -> list[list[str]]:
    lines = [line for block in blocks(GUIDE, "sh") for line in block.splitlines()]
    return [shlex.split(line)[1:] for line in lines]


@pytest.mark.usefixtures("pool", "durable")
def test_every_command_of_the_guide_works(capsys: pytest.CaptureFixture[str]) -> None:
    assert [run(command) for command in commands()] == [0] * len(commands()), capsys.readouterr()


@pytest.mark.usefixtures("pool")
def test_outputs_match_those_of_the_guide(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in commands()[:3]:
        assert run(arguments) == 0
    result = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]

    for line in (
        "workers needed for 1 hour 10",
        "workers needed for 4 hours 3",
        "workers needed for 8 hours 2",
        "workers needed for the target wait 20",
        "planned workers 12",
    ):
        assert line in result
