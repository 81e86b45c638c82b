"""The pages of schedules: timing, outcomes and toggles."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import httpx2
import pytest

from tests.sql.engine import Engine

SUMMER = datetime(2026, 3, 28, 12, tzinfo=UTC)


@pytest.fixture
def every(pool: Engine) -> int:
    return pool.put_schedule("tick", 10, role="sums", handler="add", payload={"a": "<b>"})


async def test_next_day_is_drawn_per_schedule_with_frequent_runs_as_one_band(
    pool: Engine, every: int, http: httpx2.AsyncClient
) -> None:
    pool.put_schedule("four", 14_400, role="sums", enabled=False)

    page = (await http.get("/schedules")).text

    [tick] = re.findall(r'aria-label="tick: (\d+) runs within 24 hours">(.*?)</svg>', page, re.DOTALL)
    assert 8_600 < int(tick[0]) <= 8_641
    assert (tick[1].count('class="band"'), tick[1].count('class="run"'), tick[1].count('class="now"')) == (1, 0, 1)
    [four] = re.findall(r'aria-label="four: disabled; would be \d+ runs within 24 hours">(.*?)</svg>', page, re.DOTALL)
    assert 5 <= four.count('class="run"') <= 7
    assert '<li class="dimmed">' in page


async def test_last_run_is_shown_with_its_task_and_outcome(pool: Engine, every: int, http: httpx2.AsyncClient) -> None:
    pool.fire_schedules()
    claim = pool.claim_one("sums")
    pool.complete(claim)

    page = (await http.get("/schedules")).text

    assert f'<a href="/tasks/{claim.id}">task {claim.id}</a> <span class="state" data-state="completed">' in page


async def test_rejected_run_shows_its_error_as_text(pool: Engine, every: int, http: httpx2.AsyncClient) -> None:
    pool.rows("update rolecall.schedules set last_error = '<script>alert(1)</script>'")

    for path in ("/schedules", f"/schedules/{every}"):
        page = (await http.get(path)).text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
        assert "<script>alert" not in page


async def test_schedule_can_be_disabled_and_enabled(pool: Engine, every: int, http: httpx2.AsyncClient) -> None:
    headers = {"referer": "http://test/schedules"}

    await http.post(f"/schedules/{every}/disable", headers=headers)
    assert pool.value("select enabled from rolecall.schedules") is False
    assert 'aria-checked="false" aria-label="tick is disabled"' in (await http.get("/schedules")).text
    await http.post(f"/schedules/{every}/enable", headers=headers)

    assert pool.value("select enabled from rolecall.schedules") is True


async def test_run_now_enqueues_its_task_only_once(pool: Engine, every: int, http: httpx2.AsyncClient) -> None:
    headers = {"referer": "http://test/schedules"}

    await http.post(f"/schedules/{every}/trigger", headers=headers)
    [task] = pool.tasks()
    assert f"Schedule tick runs now, as task {task.id}" in (await http.get("/schedules")).text
    await http.post(f"/schedules/{every}/trigger", headers=headers)

    assert len(pool.tasks()) == 1
    assert f"still open: task {task.id} is now due" in (await http.get("/schedules")).text


async def test_history_shows_and_counts_outcomes_tasks_and_errors(
    pool: Engine, every: int, http: httpx2.AsyncClient
) -> None:
    pool.fire_schedules()
    [task] = pool.tasks()
    pool.trigger("tick")
    pool.rows(
        "insert into rolecall.schedule_runs (schedule_id, slot, at, outcome, missed, error)"
        " values (%s, now(), now(), 'refused', 3, 'no such role')",
        every,
    )

    page = (await http.get(f"/schedules/{every}")).text

    assert page.count(f'<a href="/tasks/{task.id}">{task.id}</a> <span class="state" data-state="ready">') == 2
    assert page.index('data-state="refused"') < page.index('data-state="stood"') < page.index('data-state="enqueued"')
    assert '<small class="problem">no such role</small>' in page
    assert "manual run" in page
    for label, number in (("Ran", 1), ("Skipped", 1), ("Rejected", 1)):
        assert f"<dt>{label}</dt><dd>{number}</dd>" in page
    assert "&lt;b&gt;" in page


async def test_preview_shows_both_time_zones_and_their_clock_changes(pool: Engine, http: httpx2.AsyncClient) -> None:
    schedule_id = pool.put_schedule("night", every=None, cron="30 2 * * *", zone="Europe/Berlin", role="sums")  # type: ignore[arg-type]
    pool.rows("update rolecall.schedules set next_run_at = %s", SUMMER)

    page = (await http.get(f"/schedules/{schedule_id}")).text

    assert page.index("Sun 29 Mar 2026, 03:00:00 CEST") < page.index("Mon 30 Mar 2026, 02:30:00 CEST")
    assert 'datetime="2026-03-29T01:00:00+00:00"' in page
    assert "At 02:30 every day" in page
    assert "The clocks of Europe/Berlin go" in page


async def test_missing_schedule_is_not_found(pool: Engine, http: httpx2.AsyncClient) -> None:
    assert (await http.get("/schedules/7")).status_code == 404


async def test_schedules_can_be_searched_by_the_handlers_they_enqueue(
    pool: Engine, every: int, http: httpx2.AsyncClient
) -> None:
    pool.put_schedule("other", role="letters", handler="post")

    page = (await http.get("/schedules?q=POST")).text

    assert ">other</a>" in page
    assert ">tick</a>" not in page
