"""Secrets are absent from logs, audit entries, responses and tables."""

from __future__ import annotations

import io
from typing import Any

import psycopg
import pytest

from rolecall.config import LogFormat, LogLevel, LogSettings
from rolecall.model.operator.access import Scope
from rolecall.telemetry.logs import set_up_logging
from tests.web.doors import PASSWORD, SITE, Door

CANARY = "CANARY-6f1f8f2e-password"
EVERYTHING = "select string_agg(row_to_json(stored)::text, ' ') from rolecall.{} as stored"
TABLES = ("audit_log", "api_keys", "people", "sessions", "login_attempts")


@pytest.fixture
def logged() -> io.StringIO:
    """Record everything that this process logs, at all levels."""
    stream = io.StringIO()
    set_up_logging(LogSettings(format=LogFormat.json, level=LogLevel.debug), stream)
    return stream


async def test_no_secret_is_logged_stored_or_returned(
    door: Door, connection: psycopg.Connection[Any], logged: io.StringIO
) -> None:
    result = []
    await door.person()
    entered = await door.log_in()
    cookie = door.client.cookies["rolecall"]
    result.append(await door.log_in(password=CANARY))
    result.append(await door.log_in(CANARY, CANARY))
    result.append(await door.client.post("/api/login", json={"name": "ada", "password": [CANARY]}))
    result.append(await door.client.post("/api/login", json={"name": "ada", "password": CANARY, CANARY: 1}))
    secret = (await door.services.keys.create("deploy", Scope.ADMIN)).secret
    bearer = {"authorization": f"Bearer {secret}"}
    made = await door.client.post("/api/keys", json={"name": "x", "scope": "read"}, headers=bearer)
    result.append(await door.client.get("/api/keys", headers=bearer))
    result.append(await door.client.get("/api/audit", headers=bearer))
    result.append(await door.client.get("/api/me", headers={"authorization": f"Bearer {secret}{CANARY}"}))
    result.append(await door.client.post("/api/logout", headers={"origin": SITE}))

    assert (entered.status_code, made.status_code) == (204, 201)
    stored = " ".join(str(connection.execute(EVERYTHING.format(table)).fetchone()) for table in TABLES)
    answers = " ".join(answer.text.replace(f'"{CANARY}"', "") for answer in result if answer.status_code != 422)
    for secret_text in (PASSWORD, CANARY, cookie, secret, made.json()["secret"]):
        assert secret_text not in logged.getvalue()
        assert secret_text not in stored
        assert secret_text not in answers


async def test_rejected_login_does_not_repeat_the_password(door: Door) -> None:
    answer = await door.client.post("/api/login", json={"name": "ada", "password": [CANARY]})

    assert answer.status_code == 422
    assert CANARY not in answer.text
