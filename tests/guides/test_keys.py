"""docs/guides/keys.md: capacities count as the text says, and each command works."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from rolecall import Client
from rolecall.cli.main import run
from tests.guides.blocks import blocks, python_of

GUIDE = "keys.md"


@pytest.fixture
def shop() -> dict[str, Any]:
    return python_of(GUIDE)


@pytest.fixture
def client(shop: dict[str, Any], database: str) -> Iterator[Client]:
    with Client(database, app=shop["app"]) as client:
        yield client


def claimed(connection: psycopg.Connection[Any]) -> int:
    claims = connection.execute("select id from rolecall.claim(1, '{}', '{import_orders}', 100)")
    return len(claims.fetchall())


@pytest.mark.parametrize(("tenant", "at_once"), [(1, 3), (7, 10)])
def test_capacity_limits_concurrent_imports_of_a_tenant(
    shop: dict[str, Any], client: Client, connection: psycopg.Connection[Any], tenant: int, at_once: int
) -> None:
    for _ in range(12):
        shop["orders_came"](client, tenant)

    assert claimed(connection) == at_once


def test_capacity_of_a_tenant_can_be_raised_and_reset_at_run_time(
    shop: dict[str, Any], client: Client, connection: psycopg.Connection[Any]
) -> None:
    for _ in range(12):
        shop["orders_came"](client, 9)
    assert claimed(connection) == 3

    shop["grant"](client, 9, 5)
    assert claimed(connection) == 2
    shop["grant"](client, 9, None)
    assert claimed(connection) == 0


def test_every_command_of_the_guide_works(
    client: Client, database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_URL", database)
    client.open()
    [code] = blocks(GUIDE, "sh")
    commands = [shlex.split(line)[1:] for line in code.splitlines()]

    assert [run(command) for command in commands] == [0] * len(commands), capsys.readouterr()
    assert "key tenant:9: reset, was 5" in capsys.readouterr().out
