"""The setting `contact` of `role_setting.diff`. `test_recipes.py` runs this in the changed copy."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from typing import Any, cast

import httpx2
import psycopg
import pytest

from rolecall import App, InvalidDeclaration
from rolecall.cli.main import run
from rolecall.db.run import run as execute
from rolecall.sql import roles
from tests.web.doors import unguarded

CONTACT = "sums@example.org"


def app_with(contact: str) -> App:
    app = App("sums")
    cast("Any", app).role("sums", contact=contact)
    return app


@pytest.fixture(autouse=True)
def dsn(database: str, connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch) -> str:
    declare(connection, app_with(CONTACT))
    monkeypatch.setenv("DATABASE_URL", database)
    return database


def declare(connection: psycopg.Connection, app: App) -> None:
    execute(connection, roles.declare(*app.declaration()))


def stored(connection: psycopg.Connection) -> str:
    [(contact,)] = connection.execute("select contact from rolecall.roles where name = 'sums'").fetchall()
    return str(contact)


def test_command_shows_the_contact() -> None:
    with redirect_stdout(io.StringIO()) as out:
        run(["roles", "list", "--json"])

    assert [role["contact"] for role in json.loads(out.getvalue())] == [CONTACT]


async def test_api_and_page_show_the_contact(dsn: str) -> None:
    application = unguarded(dsn, app_with(CONTACT))
    transport = httpx2.ASGITransport(app=application)
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=transport, base_url="http://test") as client,
    ):
        assert CONTACT in (await client.get("/api/roles")).text
        assert f"<dd>{CONTACT}</dd>" in (await client.get("/roles/sums")).text


def test_later_declaration_changes_the_contact(connection: psycopg.Connection) -> None:
    declare(connection, app_with("new@example.org"))

    assert stored(connection) == "new@example.org"


def test_contact_that_is_not_declared_is_kept(connection: psycopg.Connection) -> None:
    app = App("sums")
    app.role("sums", description="adds")
    declare(connection, app)

    assert stored(connection) == CONTACT


def test_withdrawn_role_has_no_contact(connection: psycopg.Connection) -> None:
    connection.execute("select rolecall.withdraw_declaration('role', 'sums', 'gone')")

    assert stored(connection) == ""


def test_invalid_contact_is_rejected_by_the_declaration(connection: psycopg.Connection) -> None:
    with pytest.raises(InvalidDeclaration, match="contact must have at most 200 characters"):
        declare(connection, app_with("x" * 201))
