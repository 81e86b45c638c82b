"""Tasks claimed behind another of their key are shown as waiting until they start."""

from __future__ import annotations

import pytest
from psycopg.types.json import Jsonb

from tests.sql.engine import Claim, Engine

CAPACITY = "select pending_tasks, ready_tasks, running_tasks from rolecall.capacity('work')"
FOUND = "select ids from rolecall.find_tasks(%s)"
PROGRESS = "select children from rolecall.progress(%s) where depth = 0"


@pytest.fixture
def claims(engine: Engine) -> list[Claim]:
    """Three tasks of one key that one worker holds; the first has started."""
    for _ in range(3):
        engine.enqueue(key="store")
    claims = engine.claim_in_order(engine.worker(), start=1)
    engine.start(claims[0])
    return claims


def statuses(engine: Engine) -> list[tuple[str, str]]:
    return [(task.state, task.status) for task in engine.tasks()]


def test_task_claimed_in_a_sequence_is_shown_as_ready_until_it_starts(engine: Engine, claims: list[Claim]) -> None:
    assert statuses(engine) == [("running", "running"), ("pending", "ready"), ("pending", "ready")]

    engine.complete(claims[0])
    engine.start(claims[1])
    assert statuses(engine)[1:] == [("running", "running"), ("pending", "ready")]


def test_first_task_of_a_sequence_is_shown_as_claimed(engine: Engine) -> None:
    engine.enqueue(key="store")
    engine.claim_in_order(engine.worker(), start=0)
    assert statuses(engine) == [("running", "claimed")]


def test_at_most_one_task_of_a_key_has_status_claimed_or_running(engine: Engine, claims: list[Claim]) -> None:
    shown = "select count(*) from rolecall.all_tasks where status in ('claimed', 'running') group by key"
    assert engine.value(shown) == 1


@pytest.mark.usefixtures("claims")
def test_counts_include_it_in_waiting_tasks(engine: Engine) -> None:
    assert engine.rows("select state, number from rolecall.counts()") == [("pending", 2), ("running", 1)]
    assert engine.rows("select ready, running from rolecall.roles_now()") == [(2, 1)]
    assert engine.rows("select ready, running from rolecall.role_progress()") == [(2, 1)]
    assert engine.rows(CAPACITY) == [(2, 2, 1)]
    assert engine.value("select rolecall.scale_target('work')") == 3


@pytest.mark.parametrize(
    ("state", "found"),
    [("ready", [3, 2]), ("pending", [3, 2]), ("running", [1]), ("claimed", [])],
)
@pytest.mark.usefixtures("claims")
def test_lists_find_it_by_its_displayed_state(engine: Engine, state: str, found: list[int]) -> None:
    assert engine.value(FOUND, Jsonb({"state": state})) == found
    assert engine.value("select ids from rolecall.find_chains(%s)", state) == found


@pytest.mark.usefixtures("claims")
def test_why_reports_that_it_waits_for_the_holder_of_its_key(engine: Engine) -> None:
    why = engine.value("select rolecall.why(3)")
    assert (why["state"], why["key"]["holders"], why["key"]["used"], why["ahead"]) == ("pending", [1], 1, None)


def test_progress_of_its_parent_counts_it_as_pending(engine: Engine) -> None:
    parent = engine.enqueue()
    engine.complete(engine.claim_one(), next={"children": [{"role": "work", "key": "store"}] * 3})
    engine.claim_in_order(engine.worker(), start=1)

    children = {child["state"]: child["number"] for child in engine.value(PROGRESS, parent)}
    assert children == {"pending": 2, "running": 1}
    assert dict(engine.rows("select * from rolecall.count_children(%s)", parent)) == children
