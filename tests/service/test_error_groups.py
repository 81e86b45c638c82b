"""Operator actions on error groups."""

from __future__ import annotations

from datetime import datetime

import pytest

from rolecall.model.audit import AuditFilter
from rolecall.model.errors import ConfigError, ErrorGroupNotFound, InvalidCursor
from rolecall.model.operator.error_groups import ErrorGroup, ErrorGroupFilter
from rolecall.model.operator.insight import TaskFilter
from rolecall.model.operator.pages import write_text_cursor
from rolecall.service.services import Services
from tests.sql.engine import Engine


def fail(pool: Engine, *errors: str) -> list[int]:
    """Fail one task with each error, and add the failures to their groups."""
    ids = []
    for error in errors:
        ids.append(pool.enqueue("sums"))
        pool.fail(pool.claim_one(), error, final=True)
        pool.clock.advance(seconds=1)
    pool.rows("select rolecall.group_failures()")
    return ids


async def only_group(services: Services) -> ErrorGroup:
    [group] = (await services.error_groups.list(ErrorGroupFilter())).items
    return group


async def test_group_is_shown_with_a_latest_error(services: Services, pool: Engine) -> None:
    fail(pool, "E: order 1\nTraceback", "E: order 2\nTraceback")

    group = await services.error_groups.get((await only_group(services)).id)

    assert (group.title, group.failed, group.failed_tasks, group.error) == ("E: order *", 2, 2, "E: order 2\nTraceback")


async def test_list_has_pages_from_the_latest_failure_on(services: Services, pool: Engine) -> None:
    fail(pool, "A: x", "B: x", "C: x")

    first = await services.error_groups.list(ErrorGroupFilter(limit=2))
    rest = await services.error_groups.list(ErrorGroupFilter(limit=2, cursor=first.next_cursor))

    assert [group.type for group in (*first.items, *rest.items)] == ["C", "B", "A"]
    assert rest.next_cursor is None


async def test_states_change_and_are_recorded_in_the_audit_log(services: Services, pool: Engine) -> None:
    fail(pool, "E")
    group_id = (await only_group(services)).id

    answers = [await services.error_groups.mark(group_id, state) for state in ("muted", "resolved", "new")]

    assert answers == ["new", "muted", "resolved"]
    entries = await services.audit.list(AuditFilter())
    assert [(entry.action, entry.detail) for entry in entries] == [
        (f"errors.{action}", {"id": group_id}) for action in ("reopen", "resolve", "mute")
    ]


async def test_retry_retries_exactly_the_failed_tasks_of_the_group(services: Services, pool: Engine) -> None:
    wanted = fail(pool, "A: 1", "A: 2")
    other = fail(pool, "B: 1")
    [group] = (await services.error_groups.list(ErrorGroupFilter(text="A: "))).items

    found = await services.error_groups.preview_retry(group.id)
    started = await services.error_groups.retry(group.id, delay=0)
    pool.rows("select rolecall.work_off_bulk_action()")

    assert (found.number, found.is_complete) == (2, True)
    assert (await services.bulk_actions.get(started.id)).outcomes == {"pending": 2}
    assert [pool.state(task_id) for task_id in (*wanted, *other)] == ["pending", "pending", "failed"]
    [entry] = await services.audit.list(AuditFilter(action="bulk.retry"))
    assert entry.detail["which"] == {"error_group": group.id}


@pytest.mark.parametrize("rate", [0, -1, 20_000])
async def test_impossible_rate_is_rejected(services: Services, rate: float) -> None:
    with pytest.raises(ConfigError, match="tasks a second"):
        await services.tasks.bulk("retry", TaskFilter(role="sums"), rate=rate)


async def test_only_retries_have_a_rate(services: Services) -> None:
    with pytest.raises(ConfigError, match="only retries"):
        await services.tasks.bulk("cancel", TaskFilter(role="sums"), rate=1)


async def test_unknown_group_is_rejected(services: Services) -> None:
    for call in (
        services.error_groups.get(4711),
        services.error_groups.mark(4711, "muted"),
        services.error_groups.retry(4711),
        services.error_groups.preview_retry(4711),
    ):
        with pytest.raises(ErrorGroupNotFound, match="4711"):
            await call


@pytest.mark.parametrize(
    ("which", "error"),
    [
        (ErrorGroupFilter(states=["odd"]), ConfigError),  # type: ignore[list-item]  # this is the test
        (ErrorGroupFilter(since=datetime(2026, 1, 1)), ConfigError),  # noqa: DTZ001 - this is the test
        (ErrorGroupFilter(limit=0), ConfigError),
        (ErrorGroupFilter(cursor="odd"), InvalidCursor),
        (ErrorGroupFilter(cursor=write_text_cursor("odd")), InvalidCursor),
        (ErrorGroupFilter(cursor=write_text_cursor("2026-01-01T00:00:00+00:00 x")), InvalidCursor),
    ],
)
async def test_invalid_filter_is_rejected(services: Services, which: ErrorGroupFilter, error: type[Exception]) -> None:
    with pytest.raises(error):
        await services.error_groups.list(which)
