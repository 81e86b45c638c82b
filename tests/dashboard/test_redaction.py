"""The dashboard shows no redacted values, and keeps them when a form is resent."""

from __future__ import annotations

import re
from html import unescape

import httpx2
import pytest

from rolecall import App
from rolecall.db.run import run
from rolecall.sql import roles
from tests.dashboard.reading import read
from tests.secrets import CANARY, SIGN, payload, program
from tests.sql.engine import Engine


@pytest.fixture
def app() -> App:
    return program()


@pytest.fixture(autouse=True)
def vault(pool: Engine, app: App) -> None:
    run(pool.connection, roles.declare(*app.declaration()))


async def test_task_page_shows_a_redaction_placeholder(pool: Engine, http: httpx2.AsyncClient) -> None:
    task_id = pool.enqueue(role="vault", handler="sync", payload=payload())

    page = unescape((await http.get(f"/tasks/{task_id}")).text)

    assert CANARY not in page
    assert f'"token": "{SIGN}"' in page


async def test_value_entered_into_a_redacted_field_is_not_shown_again(http: httpx2.AsyncClient) -> None:
    typed = {"payload.shop": "berlin", "payload.token": CANARY, "payload.accounts": "[", "payload.login": CANARY}

    answer = await http.post("/jobs/sync?request_key=1", data=typed)

    page = read(answer.text)
    assert (answer.status_code, page.one("input", id="payload.shop")["value"]) == (422, "berlin")
    assert page.one("input", id="payload.token")["type"] == "password"
    assert CANARY not in answer.text


async def test_resubmitted_schedule_form_preserves_redacted_values(pool: Engine, http: httpx2.AsyncClient) -> None:
    schedule_id = pool.put_schedule("nightly", 3_600, role="vault", handler="sync", payload=payload())
    form = unescape((await http.get(f"/schedules/{schedule_id}/edit")).text)
    shown = re.search(r'<textarea id="payload"[^>]*>(.*?)</textarea>', form, re.DOTALL)
    revision = re.search(r'name="revision" value="(\d+)"', form)
    assert shown is not None
    assert revision is not None
    fields = {"rhythm": "every", "every": "2h", "handler": "sync", "role": "vault", "enabled": "yes"}
    fields |= {"name": "nightly", "priority": "0", "jitter": "0", "misfire": "one", "overlap": "queue"}

    done = await http.post(
        f"/schedules/{schedule_id}/edit", data={**fields, "payload": shown[1], "revision": revision[1]}
    )

    assert (done.status_code, CANARY in form) == (303, False)
    assert pool.rows("select payload, every::text from rolecall.schedules") == [(payload(), "02:00:00")]


async def test_redaction_placeholder_without_a_stored_value_is_rejected_in_its_field(
    pool: Engine, http: httpx2.AsyncClient
) -> None:
    pool.put_schedule("nightly", 3_600, role="vault", handler="sync", payload=payload())
    typed = {"rhythm": "every", "every": "1h", "handler": "sync", "name": "other", "payload": f'{{"token": "{SIGN}"}}'}

    answer = await http.post("/schedules/new", data=typed)

    assert answer.status_code == 422
    problem = re.search(r'id="payload-problem">(.*?)</span>', answer.text)
    assert problem is not None
    assert "give the value itself" in problem[1]
