"""The form of a schedule: creation, updates and concurrent edits."""

from __future__ import annotations

import re

import httpx2
import pytest

from tests.dashboard.reading import send
from tests.sql.engine import Engine

NIGHT = {"rhythm": "cron", "cron": "30 2 * * *", "zone": "Europe/Berlin", "handler": "add", "enabled": "yes"}


@pytest.fixture
def tick(pool: Engine) -> int:
    return pool.put_schedule("tick", 3_600, role="sums", handler="add", payload={"a": 1}, key="k")


def problem(page: str, field: str) -> str:
    found = re.search(rf'id="{field}-problem">(.*?)</span>', page)
    return found[1] if found else ""


def stored(pool: Engine, columns: str) -> tuple[object, ...]:
    [row] = pool.rows(f"select {columns} from rolecall.schedules")
    return row


async def change(http: httpx2.AsyncClient, schedule_id: int, **typed: str) -> httpx2.Response:
    """Change fields of the form as it is shown, and submit it."""
    page = (await http.get(f"/schedules/{schedule_id}/edit")).text
    standing = dict(re.findall(r'<input type="(?:text|hidden)" [^>]*name="(\w+)"[^>]*value="([^"]*)"', page))
    revision = dict(re.findall(r'name="(revision)" value="(\d+)"', page))
    fields = {"rhythm": "every", "handler": "add", "payload": '{"a": 1}', "enabled": "yes", **standing, **revision}
    return await http.post(f"/schedules/{schedule_id}/edit", data=fields | typed)


async def test_new_schedule_is_stored_with_all_submitted_fields(pool: Engine, http: httpx2.AsyncClient) -> None:
    typed = {
        "misfire": "skip",
        "overlap": "cancel",
        "jitter": "10m",
        "priority": "7",
        "key": "k",
        "payload": '{"a": 2}',
    }

    done = await http.post("/schedules/new", data={**NIGHT, **typed, "name": "night", "immutable": "yes"})

    assert (done.status_code, re.sub(r"\d+$", "", done.headers["location"])) == (303, "/schedules/")
    columns = "name, cron, zone, handler, role, misfire, overlap, jitter::text, priority, key, payload, immutable"
    rule = ("night", "30 2 * * *", "Europe/Berlin", "add", "sums", "skip", "cancel", "00:10:00", 7, "k", {"a": 2}, True)
    assert stored(pool, columns) == rule


@pytest.mark.parametrize(
    ("field", "text", "expected"),
    [
        ("name", "", "this is required"),
        ("cron", "30 2 * *", "has 4 fields"),
        ("cron", "", "this is required"),
        ("zone", "Europe/Berlinn", "did you mean &#39;Europe/Berlin&#39;"),
        ("handler", "ad", "unknown role"),
        ("payload", "[]", "not an object"),
        ("priority", "101", "not between -100 and 100"),
        ("jitter", "2d", "jitter is 0 to 86400 seconds"),
        ("misfire", "all", "misfire all needs overlap queue"),
    ],
)
async def test_validation_error_is_shown_next_to_its_field_and_preserves_the_input(
    pool: Engine, http: httpx2.AsyncClient, field: str, text: str, expected: str
) -> None:
    answer = await http.post("/schedules/new", data={**NIGHT, "name": "key", "overlap": "skip", field: text})

    assert answer.status_code == 422
    assert expected in problem(answer.text, field)
    assert 'value="30 2 * * *"' in answer.text or field == "cron"
    assert pool.rows("select from rolecall.schedules") == []


async def test_duplicate_name_is_reported_next_to_its_field(tick: int, http: httpx2.AsyncClient) -> None:
    answer = await http.post("/schedules/new", data={**NIGHT, "name": "tick"})

    assert (answer.status_code, "there is already a schedule" in problem(answer.text, "name")) == (409, True)


async def test_change_is_stored_and_preserves_the_other_fields(
    pool: Engine, tick: int, http: httpx2.AsyncClient
) -> None:
    done = await change(http, tick, every="4h", priority="5")

    assert done.headers["location"] == f"/schedules/{tick}"
    wanted = ("04:00:00", 5, "k", {"a": 1}, "sums", True)
    assert stored(pool, "every::text, priority, key, payload, role, enabled") == wanted


async def test_key_can_be_removed_rhythm_replaced_and_handler_changed_with_its_role(
    pool: Engine, tick: int, http: httpx2.AsyncClient
) -> None:
    await change(http, tick, key="", rhythm="cron", cron="@daily", handler="post")

    assert stored(pool, "key, every, cron, handler, role") == (None, None, "@daily", "post", "letters")


async def test_later_of_two_concurrent_editors_sees_the_conflict_and_can_overwrite(
    pool: Engine, tick: int, http: httpx2.AsyncClient
) -> None:
    pool.put_schedule("tick", 60, role="sums", handler="add", priority=9)

    refused = await change(http, tick, every="2h", revision="1")
    assert refused.status_code == 412
    assert '<small class="meanwhile">now: 1m</small>' in refused.text
    assert 'value="2h"' in refused.text
    assert "save again" in refused.text
    [revision] = re.findall(r'name="revision" value="(\d+)"', refused.text)
    await change(http, tick, every="2h", revision=revision)

    assert stored(pool, "every::text, revision") == ("02:00:00", 3)


async def test_immutable_schedule_page_allows_only_rhythm_and_priority_changes(
    pool: Engine, tick: int, http: httpx2.AsyncClient
) -> None:
    pool.put_schedule("tick", 3_600, role="sums", immutable=True)

    page = (await http.get(f"/schedules/{tick}/edit")).text
    assert "This schedule is immutable" in page
    assert 'name="payload"' not in page
    await change(http, tick, every="2h", priority="3")

    assert stored(pool, "every::text, priority, payload") == ("02:00:00", 3, {"a": 1})
    shown = (await http.get(f"/schedules/{tick}")).text
    assert "immutable: only when it runs and its priority can be changed" in shown
    assert f"/schedules/{tick}/delete" not in shown
    assert f"/schedules/{tick}/disable" not in shown
    await send(http, f"/schedules/{tick}/delete")
    assert len(pool.rows("select from rolecall.schedules")) == 1


async def test_schedule_is_deleted_after_confirmation(pool: Engine, tick: int, http: httpx2.AsyncClient) -> None:
    question = await http.post(f"/schedules/{tick}/delete")
    done = await send(http, f"/schedules/{tick}/delete")

    assert "Delete schedule tick with its history?" in question.text
    assert done.headers["location"] == "/schedules"
    assert pool.rows("select from rolecall.schedules") == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("rhythm=cron&cron=30+4+*+*+MON-FRI&zone=Asia/Tokyo", "At 04:30 on Monday through Friday"),
        ("rhythm=cron&cron=0+0+30+2+*", "bad day-of-month"),
        ("rhythm=every&every=4h", "counted from the last run"),
        ("rhythm=every&every=soon", "is not a duration"),
        ("rhythm=every&every=0", "every is 1 to 315360000 seconds"),
    ],
)
async def test_rhythm_is_explained_while_typing(
    pool: Engine, http: httpx2.AsyncClient, query: str, expected: str
) -> None:
    assert expected in (await http.get(f"/schedules/explain?{query}")).text
