"""The job queue: handlers to choose from, and the form that creates a task from the schema of a payload."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, Literal

import httpx2
import msgspec
import pytest

from rolecall import App, Context
from rolecall.db.run import run
from rolecall.sql import roles
from tests.sql.engine import Engine


@dataclass
class Address:
    """Where a letter goes."""

    street: str
    city: str = "Phoenix"


@pytest.fixture
def app(pool: Engine) -> App:
    app = App("letters")

    @app.task(role="letters")
    async def greet(  # sizes: one field of each kind
        ctx: Context,
        name: Annotated[str, msgspec.Meta(description="Whom to <greet>")],
        times: Annotated[int, msgspec.Meta(ge=1, le=5)],
        *,
        loud: bool,
        style: Literal["plain", "fancy"] = "plain",
        weight: float = 1.5,
        address: Address | None = None,
        tags: list[str] | None = None,
    ) -> None:
        """Greet somebody."""

    @app.task(role="letters", entry=False)
    async def follow(ctx: Context) -> None:
        """Continue a chain."""

    @app.task(role="letters")
    async def echo(ctx: Context, /, **payload: Any) -> None:
        """Take anything."""

    run(pool.connection, roles.declare(*app.declaration()))
    return app


FILLED = {"payload.name": "Ada", "payload.times": "2", "payload.loud": "true"}


async def enqueue(http: httpx2.AsyncClient, path: str = "/jobs/greet", **typed: str) -> httpx2.Response:
    return await http.post(path, data=FILLED | {name.replace("__", "."): text for name, text in typed.items()})


def problem(page: str, field: str) -> str:
    found = re.search(rf'id="{re.escape(field)}-problem">(.*?)</span>', page)
    return found[1] if found else ""


async def test_handlers_are_listed_by_role_with_description_and_worker_availability(
    pool: Engine, app: App, http: httpx2.AsyncClient
) -> None:
    pool.worker("sums")

    page = (await http.get("/jobs")).text

    assert page.index('href="/jobs/greet"') < page.index('href="/jobs/add"')
    assert "Greet somebody." in page
    assert "only continues chains" in page
    assert page.count('data-state="no worker"') == 4
    assert page.count('data-label="Live workers">1<') == 2


async def test_handlers_can_be_searched_by_description(app: App, http: httpx2.AsyncClient) -> None:
    page = (await http.get("/jobs?q=somebody")).text

    assert "/jobs/greet" in page
    assert "/jobs/add" not in page


async def test_handlers_are_paginated(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.declare(handlers=[{"name": f"chore-{number:03}", "role": "sums"} for number in range(120)])

    first, second = [(await http.get(f"/jobs?q=chore&page={page}")).text for page in (1, 2)]

    assert [page.count('href="/jobs/chore-') for page in (first, second)] == [50, 50]
    assert 'href="/jobs?q=chore&amp;page=2"' in first
    assert 'href="/jobs?q=chore&amp;page=1"' in second


async def test_form_has_a_field_for_each_payload_field_in_order(app: App, http: httpx2.AsyncClient) -> None:
    page = (await http.get("/jobs/greet")).text

    names = re.findall(r'name="payload\.(\w+)"', page)
    assert names == ["name", "times", "loud", "style", "weight", "address", "tags"]
    assert "Whom to &lt;greet&gt;" in page
    assert "at least 1, at most 5" in page
    assert "default: 1.5" in page
    assert '<option value="&#34;fancy&#34;"' in page
    assert "&#34;street&#34;: &#34;text&#34;" in page
    assert page.count('class="required"') == 3


async def test_submitted_form_creates_a_task_with_typed_values_and_links_to_it(
    pool: Engine, app: App, http: httpx2.AsyncClient
) -> None:
    done = await enqueue(
        http,
        payload__style='"fancy"',
        payload__weight="2",
        payload__address='{"street": "Main"}',
        payload__tags='["a"]',
    )

    [task] = pool.tasks()
    assert task.payload == {
        "name": "Ada",
        "times": 2,
        "loud": True,
        "style": "fancy",
        "weight": 2,
        "address": {"street": "Main"},
        "tags": ["a"],
    }
    assert (done.status_code, done.headers["location"]) == (303, f"/jobs/greet?as=form&created={task.id}")
    page = (await http.get(done.headers["location"])).text
    assert f'Enqueued: <a href="/tasks/{task.id}">task {task.id}</a>' in page


async def test_omitted_fields_get_the_functions_defaults(pool: Engine, app: App, http: httpx2.AsyncClient) -> None:
    await enqueue(http)

    assert pool.tasks()[0].payload == {"name": "Ada", "times": 2, "loud": True}


@pytest.mark.parametrize(
    ("field", "text", "expected"),
    [
        ("payload.name", "", "this is required"),
        ("payload.times", "two", "&#39;two&#39; is not a whole number"),
        ("payload.times", "9", "Expected `int` &lt;= 5 - at `$.times`"),
        ("payload.address", "{", "this is not JSON"),
        ("payload.address", '{"city": "Rome"}', "required field `street`"),
        ("priority", "1000", "less than or equal to 100"),
        ("timeout", "soon", "is not a duration"),
        ("expires", "soon", "is not a duration"),
        ("expires", "0", "greater than 0"),
        ("scheduled_for", "tomorrow", "is not a date and time"),
    ],
)
async def test_validation_error_is_shown_next_to_its_field_and_preserves_the_input(  # sizes: one case for each field
    pool: Engine, app: App, http: httpx2.AsyncClient, field: str, text: str, expected: str
) -> None:
    answer = await http.post("/jobs/greet", data={**FILLED, field: text})

    assert answer.status_code == 422
    assert expected in problem(answer.text, field)
    assert 'value="Ada"' in answer.text or field == "payload.name"
    assert pool.tasks() == []


async def test_form_options_match_those_of_the_api(pool: Engine, app: App, http: httpx2.AsyncClient) -> None:
    options = {
        "priority": "7",
        "key": "k",
        "max_attempts": "0",
        "timeout": "1h30m",
        "expires": "2d",
        "zone": "America/Phoenix",
    }

    await enqueue(http, **options, scheduled_for="2026-12-24T18:00", dedupe_key="d", dedupe="error")

    [task] = pool.tasks()
    assert (task.priority, task.key, task.max_attempts) == (7, "k", None)
    assert task.scheduled_for.isoformat() == "2026-12-25T01:00:00+00:00"
    assert pool.value("select timeout::text from rolecall.tasks") == "01:30:00"
    assert pool.value("select expires_at - scheduled_for from rolecall.tasks") == timedelta(days=2)
    again = await enqueue(http, **options, dedupe_key="d", dedupe="error")
    assert again.status_code == 409
    assert f"task {task.id}" in again.text


async def test_existing_task_is_reported_and_linked(pool: Engine, app: App, http: httpx2.AsyncClient) -> None:
    await enqueue(http, dedupe_key="d")

    done = await enqueue(http, dedupe_key="d")

    assert done.headers["location"] == f"/jobs/greet?as=form&stood={pool.tasks()[0].id}"
    assert "this task exists already" in (await http.get(done.headers["location"])).text


async def test_payload_can_be_entered_as_json_and_errors_are_shown_there_too(
    pool: Engine, app: App, http: httpx2.AsyncClient
) -> None:
    assert "&#34;times&#34;: 0" in (await http.get("/jobs/greet?as=json")).text

    refused = await http.post("/jobs/greet?as=json", data={"payload": '{"name": "Bo", "times": 1, "loud": 3}'})
    assert (refused.status_code, "Expected `bool`" in problem(refused.text, "payload")) == (422, True)
    assert "&#34;loud&#34;: 3" in refused.text
    await http.post("/jobs/greet?as=json", data={"payload": '{"name": "Bo", "times": 1, "loud": true}'})

    assert pool.tasks()[0].payload["name"] == "Bo"


async def test_handler_without_fields_accepts_json(pool: Engine, http: httpx2.AsyncClient) -> None:
    assert "This handler declares no schema." in (await http.get("/jobs/add")).text

    await http.post("/jobs/add", data={"payload": '{"a": 1}'})

    assert pool.tasks()[0].payload == {"a": 1}


async def test_handler_of_any_payload_accepts_json_and_states_that(
    pool: Engine, app: App, http: httpx2.AsyncClient
) -> None:
    page = (await http.get("/jobs/echo")).text
    assert "This handler takes any payload." in page
    assert 'name="payload"' in page

    refused = await http.post("/jobs/echo", data={"payload": "[1]"})
    assert "not an object" in problem(refused.text, "payload")
    await http.post("/jobs/echo", data={"payload": '{"a b": [1], "payload": {}}'})

    assert pool.tasks()[0].payload == {"a b": [1], "payload": {}}


async def test_clicking_twice_creates_one_task_and_shows_it(pool: Engine, app: App, http: httpx2.AsyncClient) -> None:
    [address] = re.findall(r'action="(/jobs/greet\?[^"]*)"', (await http.get("/jobs/greet")).text)
    path = address.replace("&amp;", "&")

    first, second = await asyncio.gather(enqueue(http, path), enqueue(http, path))

    assert len(pool.tasks()) == 1
    assert (first.status_code, second.status_code) == (303, 303)
    assert first.headers["location"] == second.headers["location"]


async def test_rejected_form_can_be_sent_again_with_the_same_request_key(
    pool: Engine, app: App, http: httpx2.AsyncClient
) -> None:
    refused = await enqueue(http, "/jobs/greet?request_key=k", payload__times="9")

    done = await enqueue(http, "/jobs/greet?request_key=k")

    assert (refused.status_code, done.status_code) == (422, 303)
    assert len(pool.tasks()) == 1


async def test_non_entry_handler_has_no_form(app: App, http: httpx2.AsyncClient) -> None:
    page = (await http.get("/jobs/follow")).text

    assert "They cannot be created here" in page
    assert "<textarea" not in page


async def test_missing_handler_is_not_found_and_a_similar_name_is_suggested(
    pool: Engine, http: httpx2.AsyncClient
) -> None:
    answer = await http.get("/jobs/stumbel")

    assert (answer.status_code, "did you mean &#39;stumble&#39;" in answer.text) == (404, True)
