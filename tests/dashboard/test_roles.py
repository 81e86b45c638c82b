"""The page of roles, and pauses."""

from __future__ import annotations

import sys

import httpx2
import pytest

from tests.sql.engine import Engine

RICH = {
    "name": "mail",
    "description": "Letters to <customers>",
    "lease": 30,
    "timeout": 5400,
    "max_attempts": 7,
    "max_payload_bytes": 2048,
    "keep_completed": 86_400,
    "keep_failed": 172_800,
    "one_root": True,
    "retry": {"kind": "linear", "step": 5, "cap": 60},
}


async def test_role_is_shown_with_its_description_and_all_its_settings(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.declare(RICH)

    page = (await http.get("/roles/mail")).text

    assert "Letters to &lt;customers&gt;" in page
    for setting in ("30 s", "1 h 30 min", "7 attempts", "+5 s each time, max. 1 min", "2.05 kB", "1 d", "2 d"):
        assert f"<dd>{setting}</dd>" in page
    assert "one_root" in page


async def test_role_is_shown_with_its_handlers_queue_depth_and_live_workers(
    pool: Engine, http: httpx2.AsyncClient
) -> None:
    pool.enqueue_many([{"handler": "add"}] * 23)
    pool.worker("sums")

    page = (await http.get("/roles/sums")).text

    assert 'href="/handlers/stumble"' in page
    assert "<dt>Ready</dt><dd>23</dd>" in page
    assert "<dt>Live workers</dt><dd>1</dd>" in page


async def test_role_is_shown_with_its_keys_workers_and_forecast(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.enqueue_many([{"handler": "add", "key": "shop:1"}])
    pool.worker("sums", name="adder")

    page = (await http.get("/roles/sums")).text

    assert 'href="/tasks?role=sums&amp;state=ready&amp;key=shop%3A1"' in page
    assert ">adder</a>" in page
    assert "With 1 worker" in page


async def test_role_without_a_live_worker_is_marked(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.worker("sums")

    assert "No live worker serves this role." in (await http.get("/roles/letters")).text
    assert "No live worker serves this role." not in (await http.get("/roles/sums")).text


async def test_page_of_a_missing_role_suggests_another(pool: Engine, http: httpx2.AsyncClient) -> None:
    answer = await http.get("/roles/sum")

    assert answer.status_code == 404
    assert "did you mean &#39;sums&#39;" in answer.text


async def test_role_is_paused_for_the_given_duration_and_shows_end_and_actor(
    pool: Engine, http: httpx2.AsyncClient
) -> None:
    done = await http.post("/roles/sums/pause", data={"duration": "1h30m"}, headers={"referer": "http://test/roles"})
    assert done.headers["location"] == "/roles"

    [(seconds,)] = pool.rows(
        "select extract(epoch from paused_until - paused_at)::int from rolecall.roles where name = 'sums'"
    )
    assert seconds == 5400
    page = (await http.get("/roles/sums")).text
    assert "Role sums is paused for 1h30m" in page
    assert "until <local-time" in page
    [(by,)] = pool.rows("select paused_by from rolecall.roles where name = 'sums'")
    assert f" by {by}," in page


async def test_role_without_a_pause_duration_stays_paused_until_it_is_resumed(
    pool: Engine, http: httpx2.AsyncClient
) -> None:
    await http.post("/roles/sums/pause", data={"duration": ""})
    assert "until it is resumed" in (await http.get("/roles")).text

    await http.post("/roles/sums/resume")

    assert pool.value("select paused_at from rolecall.roles where name = 'sums'") is None


async def test_invalid_duration_shows_an_error_and_pauses_nothing(pool: Engine, http: httpx2.AsyncClient) -> None:
    headers = {"referer": "http://test/roles"}
    await http.post("/roles/sums/pause", data={"duration": "soon"}, headers=headers)

    assert 'class="notice bad"' in (await http.get("/roles")).text
    assert pool.value("select paused_at from rolecall.roles where name = 'sums'") is None


async def test_missing_role_cannot_be_paused(pool: Engine, http: httpx2.AsyncClient) -> None:
    answer = await http.post("/roles/sum/pause", data={"duration": "5m"})

    assert answer.status_code == 404
    assert "did you mean &#39;sums&#39;" in answer.text


async def test_roles_are_paginated(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.declare(*({"name": f"crew-{number:02}"} for number in range(30)))

    first, second = [(await http.get(f"/roles?page={page}")).text for page in (1, 2)]

    assert 'id="role-crew-00"' in first
    assert 'href="/roles?page=2"' in first
    assert 'id="role-crew-00"' not in second
    assert 'id="role-crew-29"' in second


async def test_roles_can_be_searched_by_name(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.declare({"name": "a-mail"}, {"name": "mail"})

    page = (await http.get("/roles?q=mail")).text

    assert 'id="role-mail"' in page
    assert 'id="role-a-mail"' in page
    assert 'id="role-sums"' not in page


async def test_draining_worker_does_not_count_as_a_live_worker_of_its_role(
    pool: Engine, http: httpx2.AsyncClient
) -> None:
    pool.worker("sums")
    drained = pool.worker("sums")
    pool.rows("select rolecall.command_worker(%s, 'drain')", drained)

    assert "<dt>Live workers</dt><dd>1</dd>" in (await http.get("/roles/sums")).text


@pytest.mark.parametrize("address", ["/roles", "/jobs"])
async def test_page_cost_does_not_grow_with_ten_times_the_workers(
    pool: Engine, http: httpx2.AsyncClient, address: str
) -> None:
    """Five hundred roles and a thousand workers froze the server for twelve seconds."""
    roles = [f"crew-{number}" for number in range(30)]
    pool.declare(*({"name": role} for role in roles), handlers=[{"name": role, "role": role} for role in roles])
    for role in roles:
        pool.worker(role)
    await http.get(address)
    few = await _calls(http, address)

    for role in roles * 9:
        pool.worker(role)

    assert await _calls(http, address) < 1.1 * few


async def _calls(http: httpx2.AsyncClient, address: str) -> int:
    """Return how many Python functions the page calls: its cost, independent of the machine's load."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        answer = await http.get(address)
    finally:
        sys.setprofile(None)
    assert answer.status_code == httpx2.codes.OK
    return calls
