"""Progress on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import Run

Sql = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture
def parent(cli: Run, sql: Sql) -> int:
    """A task that waits for two children, of which one has completed."""
    parent_id: int = cli("enqueue", "add", "--json").json["id"]
    [(worker_id,)] = sql("select rolecall.register_worker('w', '{}', '{add,stumble}', 1, 'h', 1, '0')")

    def claim_and_complete(**words: object) -> None:
        [(task_id, fence)] = sql("select id, fence from rolecall.claim(%s, '{}', '{add,stumble}', 1)", worker_id)
        report = {"id": task_id, "fence": fence, "outcome": "completed", **words}
        sql("select * from rolecall.finish(%s, %s)", worker_id, json.dumps([report]))

    claim_and_complete(next={"children": [{"handler": "add"}, {"handler": "stumble"}]})
    claim_and_complete()
    return parent_id


def test_progress_of_a_tree_shows_its_phases(cli: Run, parent: int) -> None:
    shown = cli("tasks", "progress", parent).out
    whole = cli("tasks", "progress", parent, "--weight", "add:3", "--json").json

    assert "50 %" in shown
    assert whole["fraction"] == 0.75
    assert [phase["handler"] for phase in whole["phases"]] == ["add", "stumble"]


@pytest.mark.parametrize("weight", ["add", "add:none", "add:0", "add:-1", "add:nan", ":3"])
def test_invalid_weight_is_rejected(cli: Run, parent: int, weight: str) -> None:
    refused = cli("tasks", "progress", parent, "--weight", weight)

    assert refused.code == 2
    assert "fetch:3" in refused.err


def test_progress_of_an_unknown_task_is_an_error(cli: Run) -> None:
    assert cli("tasks", "progress", 4711).code == 4


def test_live_shows_the_progress_of_the_roles(cli: Run, parent: int) -> None:
    [role] = cli("live", "--json").json["roles"]

    assert (role["role"], role["waiting"], role["ready"], role["current_root"]) == ("sums", 1, 1, parent)
    assert "completed/min" in cli("live").out
