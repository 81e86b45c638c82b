"""`rolecall key-capacities`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.cli.conftest import Run

Sql = Callable[..., list[tuple[Any, ...]]]


def test_capacity_can_be_set_listed_and_reset(cli: Run, sql: Sql) -> None:
    sql("""select rolecall.declare_key_capacities('{"tenant:*": 2}')""")

    assert cli("key-capacities", "set", "tenant:*", 3).out == "key tenant:*: 3 at once\n"
    assert cli("key-capacities", "set", "tenant:*", 4).out == "key tenant:*: 4 at once, was 3\n"
    assert cli("key-capacities", "list").out.split()[-4:] == ["tenant:*", "4", "2", "4"]
    assert cli("key-capacities", "reset", "tenant:*").out == "key tenant:*: reset, was 4\n"
    assert cli("key-capacities", "reset", "tenant:*").out == "key tenant:* was not set\n"
    assert cli("key-capacities", "list").out.split()[-3:] == ["tenant:*", "2", "2"]


def test_every_response_is_available_as_json(cli: Run) -> None:
    result = {"pattern": "tenant:*", "set_to": 3, "before": None}
    listed = {"pattern": "tenant:*", "capacity": 3, "declared": None, "set_to": 3}

    assert cli("key-capacities", "set", "tenant:*", 3, "--json").json == result
    assert cli("key-capacities", "list", "--json").json == {"items": [listed], "next_cursor": None}
    assert cli("key-capacities", "show", "tenant:7", "--json").json["key"]["pattern"] == "tenant:*"
    assert cli("key-capacities", "reset", "tenant:*", "--json").json == result | {"set_to": None, "before": 3}


def test_long_list_shows_the_cursor_of_its_next_page(cli: Run) -> None:
    for pattern in ("a", "b*"):
        cli("key-capacities", "set", pattern, 2)

    cursor = cli("key-capacities", "list", "--limit", 1).out.split()[-1]

    assert cli("key-capacities", "list", "--after", cursor).out.split()[-3:] == ["b*", "2", "2"]


def test_key_is_shown_with_its_holders_and_waiting_tasks(cli: Run, sql: Sql) -> None:
    for _ in range(3):
        cli("enqueue", "add", "--key", "tenant:7")
    cli("enqueue", "add", "--key", "tenant:7", "--after", "1h")
    sql("select rolecall.claim(rolecall.register_worker('w', '{}', '{add}', 1, 'h', 1, '0'), '{}', '{add}', 9)")

    lines = [" ".join(line.split()) for line in cli("key-capacities", "show", "tenant:7").out.splitlines()]

    assert {"at once 1", "held 1", "waiting 2", "due later 1"} <= set(lines)
    assert any(line.startswith("1 sums add running") for line in lines)


def test_invalid_pattern_is_rejected_in_one_sentence(cli: Run) -> None:
    done = cli("key-capacities", "set", "ten*ant", 3)

    assert done.code == 2
    assert "'ten*ant' has a star before its end" in done.err


def test_empty_list_states_the_default(cli: Run) -> None:
    assert cli("key-capacities", "list").out == "no capacities: all keys have a capacity of 1\n"


def test_busiest_keys_are_listed(cli: Run) -> None:
    for key in ("tenant:7", "tenant:8", "tenant:7"):
        cli("enqueue", "add", "--key", key)

    lines = [" ".join(line.split()) for line in cli("key-capacities", "busiest").out.splitlines()]

    assert "tenant:7 1 0 2 0" in lines
    assert not any("tenant:8" in line for line in lines)
