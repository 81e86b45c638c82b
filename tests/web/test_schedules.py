"""Schedules over HTTP."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

NIGHTLY = {"name": "nightly", "handler": "add", "cron": "30 2 * * *", "zone": "Europe/Berlin", "payload": {"a": 1}}
FAR = "2099-01-01T00:00:00Z"


@pytest.fixture
async def nightly(http: httpx2.AsyncClient) -> dict[str, Any]:
    created: dict[str, Any] = (await http.post("/api/schedules", json=NIGHTLY)).json()
    return created


async def test_schedule_is_created_and_can_be_read(http: httpx2.AsyncClient) -> None:
    made = await http.post("/api/schedules", json=NIGHTLY)

    assert made.status_code == 201
    found = await http.get(made.headers["Location"])
    assert (found.json(), found.headers["ETag"]) == (made.json(), '"1"')
    assert made.json()["made_by"] == "person"
    assert (await http.get("/api/schedules")).json() == {"items": [made.json()], "next_cursor": None}


async def test_schedule_name_is_unique(http: httpx2.AsyncClient, nightly: dict[str, Any]) -> None:
    again = await http.post("/api/schedules", json=NIGHTLY)

    assert (again.status_code, again.json()["type"]) == (409, "urn:rolecall:schedule-conflict")


async def test_change_preserves_unspecified_fields(http: httpx2.AsyncClient, nightly: dict[str, Any]) -> None:
    changed = (await http.put(f"/api/schedules/{nightly['id']}", json={"every": 3600, "priority": 7})).json()

    result = {"every": 3600, "interval_hours": 1, "cron": None, "priority": 7, "revision": 2}
    moved = {name: changed[name] for name in ("edited_at", "next_run_at")}
    assert changed == nightly | result | moved


async def test_second_of_two_changes_to_one_revision_is_rejected(
    http: httpx2.AsyncClient, nightly: dict[str, Any]
) -> None:
    path, state = f"/api/schedules/{nightly['id']}", {"If-Match": '"1"'}

    first = await http.put(path, json={"priority": 1}, headers=state)
    second = await http.put(path, json={"priority": 2}, headers=state)

    assert (first.status_code, first.headers["ETag"]) == (200, '"2"')
    assert (second.status_code, second.json()["type"]) == (412, "urn:rolecall:schedule-changed")
    assert (await http.get(path)).json()["priority"] == 1


async def test_immutable_schedule_accepts_only_changes_of_rhythm_and_priority(http: httpx2.AsyncClient) -> None:
    made = (await http.post("/api/schedules", json=NIGHTLY | {"immutable": True})).json()
    path = f"/api/schedules/{made['id']}"

    assert (await http.put(path, json={"every": 60, "priority": 1})).status_code == 200
    for change in ({"payload": {"a": 2}}, {"enabled": False}, {"immutable": False}, {"first_run_at": FAR}):
        assert (await http.put(path, json=change)).status_code == 409
    refused = await http.delete(path)
    assert (refused.status_code, "immutable" in refused.json()["detail"]) == (409, True)


async def test_run_now_called_twice_creates_one_task(http: httpx2.AsyncClient, nightly: dict[str, Any]) -> None:
    path = f"/api/schedules/{nightly['id']}"

    first = (await http.post(f"{path}/trigger")).json()

    assert (await http.post(f"{path}/trigger")).json() == first
    runs = (await http.get(f"{path}/runs")).json()["items"]
    assert [(run["outcome"], run["task_id"], run["slot"]) for run in runs] == [
        ("stood", first["task_id"], None),
        ("enqueued", first["task_id"], None),
    ]


async def test_history_is_paginated(http: httpx2.AsyncClient, nightly: dict[str, Any]) -> None:
    path = f"/api/schedules/{nightly['id']}"
    for _ in range(3):
        await http.post(f"{path}/trigger")

    first = (await http.get(f"{path}/runs", params={"limit": 2})).json()
    rest = (await http.get(f"{path}/runs", params={"limit": 2, "cursor": first["next_cursor"]})).json()

    assert [run["outcome"] for run in first["items"] + rest["items"]] == ["stood", "stood", "enqueued"]
    assert rest["next_cursor"] is None


async def test_next_runs_can_be_previewed_and_disabled(http: httpx2.AsyncClient, nightly: dict[str, Any]) -> None:
    path = f"/api/schedules/{nightly['id']}"

    coming = (await http.get(f"{path}/preview", params={"limit": 2})).json()["items"]
    off = (await http.post(f"{path}/disable")).json()
    on = (await http.post(f"{path}/enable")).json()

    assert coming[0] == {"slot": nightly["next_run_at"], "due_at": nightly["next_run_at"]}
    assert (off["enabled"], on["enabled"], on["next_run_at"]) == (False, True, nightly["next_run_at"])


async def test_key_is_removed_by_null(http: httpx2.AsyncClient) -> None:
    made = (await http.post("/api/schedules", json=NIGHTLY | {"key": "k"})).json()

    assert (await http.put(f"/api/schedules/{made['id']}", json={"key": None})).json()["key"] is None


async def test_deleted_schedule_no_longer_exists(http: httpx2.AsyncClient, nightly: dict[str, Any]) -> None:
    path = f"/api/schedules/{nightly['id']}"

    assert (await http.delete(path)).status_code == 204
    doors = (("GET", ""), ("PUT", ""), ("DELETE", ""), ("POST", "/trigger"), ("GET", "/runs"), ("GET", "/preview"))
    for verb, of in doors:
        answer = await http.request(verb, path + of, json={} if verb == "PUT" else None)
        assert (answer.status_code, answer.json()["type"]) == (404, "urn:rolecall:schedule-not-found")


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"cron": "0 0 30 2 *"}, "day-of-month"),
        ({"cron": "0 0 */40 * MON#2"}, "has the step 40"),
        ({"cron": "0 0 0 * * *"}, "for seconds, use every"),
        ({"cron": "@reboot"}, "1 fields"),
        ({"zone": "Europe/Berlim"}, "did you mean 'Europe/Berlin'"),
        ({"zone": "../etc/passwd"}, "no time zone"),
        ({"cron": None, "every": 0.5}, "every is 1 to"),
        ({"every": 60}, "either"),
        ({"cron": None}, "either"),
        ({"every": True, "cron": None}, "every"),
        ({"misfire": "never"}, "misfire"),
        ({"misfire": "all", "overlap": "skip"}, "needs overlap queue"),
        ({"jitter": 100_000}, "jitter"),
        ({"priority": 101}, "priority"),
        ({"handler": "ad"}, "did you mean 'add'"),
        ({"payload": []}, "payload"),
        ({"nonsense": 1}, "nonsense"),
        ({"first_run_at": "2026-01-01T00:00:00"}, "first_run_at"),
        ({"name": ""}, "name"),
    ],
)
async def test_invalid_schedule_is_rejected_with_the_reason(
    http: httpx2.AsyncClient, change: dict[str, object], part: str
) -> None:
    answer = await http.post("/api/schedules", json=NIGHTLY | change)

    assert answer.status_code == 422
    assert part in answer.json()["detail"]


async def test_upcoming_runs_of_all_schedules_are_listed_as_stretches(
    http: httpx2.AsyncClient, nightly: dict[str, Any]
) -> None:
    often = (await http.post("/api/schedules", json={"name": "often", "handler": "add", "every": 10})).json()

    night, ten = (await http.get("/api/schedules/ahead?hours=24")).json()["items"]

    assert (night["schedule_id"], [each["slots"] for each in night["stretches"]]) == (nightly["id"], [1])
    [stretch] = ten["stretches"]
    assert (ten["schedule_id"], stretch["slots"] in {8_640, 8_641}) == (often["id"], True)


async def test_outcomes_of_runs_are_counted(http: httpx2.AsyncClient, nightly: dict[str, Any]) -> None:
    path = f"/api/schedules/{nightly['id']}"
    for _ in range(2):
        await http.post(f"{path}/trigger")

    assert (await http.get(f"{path}/outcomes")).json() == {"enqueued": 1, "stood": 1}
