"""Searching tasks and applying bulk actions to the matches."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from rolecall import ConfigError, NewTask
from rolecall.model.audit import AuditFilter
from rolecall.model.errors import FilterError, InvalidCursor, NoFilter
from rolecall.model.operator.insight import TaskFilter
from rolecall.model.operator.pages import read_cursor, write_cursor
from rolecall.model.tasks import TaskSummary
from rolecall.service import tasks as task_service
from rolecall.service.services import Services

ADD = NewTask(handler="add", payload={"a": 1})
HOUR = timedelta(hours=1)
NOW = datetime.now(UTC)


@pytest.fixture
async def pool(services: Services) -> dict[str, int]:
    tasks = {
        "plain": ADD,
        "keyed": ADD.options(key="store:7"),
        "blocked": ADD.options(key="store:7", needs=[1]),
        "other": NewTask(handler="stumble", payload={"said": "50% off_menu"}, dedupe_key="Once"),
        "later": ADD.options(after=600),
        "gone": ADD.options(key="store:7"),
    }
    ids: dict[str, int] = {}
    for name, task in tasks.items():
        needs = [ids["plain"]] if task.needs else ()
        ids[name] = (await services.tasks.enqueue(task.options(needs=needs))).id
    await services.tasks.fail(ids["gone"], "over a Stone")
    return ids


def set_of(which: TaskFilter) -> list[str]:
    """Return the names of the given filters."""
    return [name for name in TaskFilter.__slots__ if getattr(which, name) != getattr(TaskFilter(), name)]


@pytest.mark.parametrize(
    ("which", "found"),
    [
        (TaskFilter(state="failed"), "gone"),
        (TaskFilter(state="blocked"), "blocked"),
        (TaskFilter(state="scheduled"), "later"),
        (TaskFilter(handler="stumble"), "other"),
        (TaskFilter(role="sums", state="ready"), "other keyed plain"),
        (TaskFilter(key="store:7"), "gone blocked keyed"),
        (TaskFilter(key="store:7", state="pending"), "keyed"),
        (TaskFilter(text="STONE"), "gone"),
        (TaskFilter(text="50% off_"), "other"),
        (TaskFilter(text="once"), "other"),
        (TaskFilter(text="stumb"), "other"),
        (TaskFilter(text="5_% off"), ""),
        (TaskFilter(role="nobody"), ""),
        (TaskFilter(worker_id=5), ""),
        (TaskFilter(created_to=NOW - HOUR), ""),
        (TaskFilter(created_from=NOW - HOUR, state="failed"), "gone"),
        (TaskFilter(finished_from=NOW - HOUR), "gone"),
        (TaskFilter(finished_to=NOW - HOUR), ""),
        (TaskFilter(roots=True, handler="add"), "gone later blocked keyed plain"),
    ],
    ids=lambda case: " ".join(set_of(case)) if isinstance(case, TaskFilter) else None,
)
async def test_filters_combine_over_open_and_finished_tasks(
    services: Services, pool: dict[str, int], which: TaskFilter, found: str
) -> None:
    page = await services.tasks.list(which)

    assert [task.id for task in page.items] == [pool[name] for name in found.split()]
    assert page.next_cursor is None


async def test_ids_and_chains_are_found_among_open_and_finished_tasks(services: Services, pool: dict[str, int]) -> None:
    ids = [pool["gone"], pool["plain"]]

    assert [task.id for task in (await services.tasks.list(TaskFilter(ids=ids))).items] == ids
    [only] = (await services.tasks.list(TaskFilter(chain_id=pool["keyed"]))).items
    assert only.id == pool["keyed"]


async def test_list_does_not_read_payloads(services: Services, pool: dict[str, int]) -> None:
    """The payload is excluded from lists and loaded on demand."""
    page = await services.tasks.list(TaskFilter())

    assert {type(task) for task in page.items} == {TaskSummary}
    assert (await services.tasks.get(pool["plain"])).payload == {"a": 1}


async def test_exactly_full_page_has_no_next_page(services: Services, pool: dict[str, int]) -> None:
    page = await services.tasks.list(TaskFilter(limit=len(pool)))

    assert (len(page.items), page.next_cursor) == (len(pool), None)


@pytest.mark.parametrize("cursor", ["", "x", "AAAA", "é", "💥", write_cursor(7)[:-1], write_cursor(7) + "A", "%00"])
async def test_unknown_cursor_is_rejected(services: Services, cursor: str) -> None:
    with pytest.raises(InvalidCursor):
        await services.tasks.list(TaskFilter(cursor=cursor))


def test_cursor_round_trips_unchanged() -> None:
    assert [read_cursor(write_cursor(each)) for each in (0, 1, 2**63 - 1)] == [0, 1, 2**63 - 1]


async def test_invalid_filter_is_rejected(services: Services) -> None:
    with pytest.raises(ConfigError, match="time zone"):
        await services.tasks.list(TaskFilter(created_from=NOW.replace(tzinfo=None)))
    with pytest.raises(FilterError):
        await services.tasks.list(TaskFilter(text="\0"))


async def test_dry_run_reports_the_matching_tasks_and_changes_nothing(services: Services, pool: dict[str, int]) -> None:
    meant = await services.tasks.bulk("cancel", TaskFilter(key="store:7"), dry_run=True)

    assert (meant.matched, meant.more, meant.outcomes) == (3, False, {})
    assert meant.ids == [pool[name] for name in ("gone", "blocked", "keyed")]
    assert (await services.tasks.get(pool["keyed"])).status == "ready"


async def test_bulk_action_applies_to_all_matches_and_counts_outcomes(services: Services, pool: dict[str, int]) -> None:
    done = await services.tasks.bulk("cancel", TaskFilter(key="store:7"))

    assert (done.matched, done.outcomes) == (3, {"cancelled": 2, "finished": 1})
    assert (await services.tasks.bulk("retry", TaskFilter(state="failed"))).outcomes == {"pending": 1}
    assert (await services.tasks.get(pool["gone"])).status == "ready"


async def test_limit_selects_the_newest_tasks_and_reports_that_more_match(
    services: Services, pool: dict[str, int]
) -> None:
    done = await services.tasks.bulk("cancel", TaskFilter(state="ready"), limit=2)

    assert (done.matched, done.more, done.ids) == (2, True, [pool["other"], pool["keyed"]])


async def test_bulk_action_is_audited_with_its_filter(services: Services, pool: dict[str, int]) -> None:
    await services.tasks.bulk("retry", TaskFilter(state="failed"))

    [event] = [event for event in await services.audit.list(AuditFilter()) if event.action == "tasks.retry"]
    assert event.detail == {"which": {"state": "failed"}, "limit": 1_000}


async def test_bulk_action_without_a_filter_is_rejected(services: Services, pool: dict[str, int]) -> None:
    for nothing in (TaskFilter(), TaskFilter(limit=5), TaskFilter(roots=False)):
        with pytest.raises(NoFilter):
            await services.tasks.bulk("delete", nothing)
    with pytest.raises(ConfigError):
        await services.tasks.bulk("delete", TaskFilter(state="failed"), limit=0)


async def test_deletion_skips_tasks_that_are_needed_or_continued(
    services: Services, pool: dict[str, int], aconnection: psycopg.AsyncConnection[Any]
) -> None:
    await services.tasks.complete(pool["other"])
    await aconnection.execute("update rolecall.finished_tasks set continued = true where id = %s", [pool["other"]])

    outcomes = await services.tasks.delete([*pool.values(), 10**9])

    assert outcomes == {
        **dict.fromkeys(pool.values(), "deleted"),
        pool["other"]: "continued",
        10**9: "missing",
    }
    assert [task.id for task in (await services.tasks.list(TaskFilter())).items] == [pool["other"]]


async def test_deletion_skips_a_needed_task_and_deletes_the_others(services: Services, pool: dict[str, int]) -> None:
    done = await services.tasks.bulk("delete", replace(TaskFilter(), ids=[pool["plain"], pool["later"]]))

    assert done.outcomes == {"needed": 1, "deleted": 1}
    assert (await services.tasks.get(pool["plain"])).status == "ready"


async def store_needle_below(services: Services, number: int) -> int:
    """Store a task with the text `needle`, and more tasks after it. One call examines the newest 5,000."""
    [needle] = await services.tasks.enqueue_many([ADD.options(dedupe_key="needle")])
    await services.tasks.enqueue_many([ADD] * number)
    return needle.id


async def test_search_continues_until_the_page_is_full_or_all_tasks_are_examined(services: Services) -> None:
    needle = await store_needle_below(services, 11_000)

    page = await services.tasks.list(TaskFilter(text="needle"))

    assert [task.id for task in page.items] == [needle]
    assert page.next_cursor is None


async def test_search_that_takes_too_long_returns_how_far_it_came(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_service, "SEARCH_SECONDS", 0.0)
    needle = await store_needle_below(services, 5_000)

    page = await services.tasks.list(TaskFilter(text="needle"))
    assert page.items == []
    assert page.next_cursor is not None
    since = await services.tasks.examined_since(page.next_cursor)
    rest = await services.tasks.list(TaskFilter(text="needle", cursor=page.next_cursor))

    assert since == (await services.tasks.get(needle + 1)).created_at
    assert [task.id for task in rest.items] == [needle]
