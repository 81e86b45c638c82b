"""Checks of an app among the findings of the doctor."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import psycopg
import pytest

from rolecall import App, Finding, Severity
from rolecall.model.audit import Actor
from rolecall.model.operator.doctor import Diagnosis, Verdict
from rolecall.service import alerts
from rolecall.service import doctor as service
from rolecall.service.database import InTransaction, OneConnection
from rolecall.service.doctor import Doctor

Connection = psycopg.AsyncConnection[Any]
ACTOR = Actor(name="ada", via="cli")


async def shelves(connection: Connection) -> Iterable[Finding]:
    [(number,)] = await (await connection.execute("select count(*) from rolecall.roles")).fetchall()
    return [Finding(severity=Severity.TROUBLE, problem=f"{number} shelves are empty", advice="fill them", path="/shop")]


async def no_table(connection: Connection) -> Iterable[Finding]:
    await connection.execute("select * from shop.shelves")
    return []


async def endless(_: Connection) -> Iterable[Finding]:
    await asyncio.Event().wait()
    return []


async def examined(connection: Connection, app: App) -> Diagnosis:
    database = OneConnection(connection, ACTOR)
    diagnosis = await Doctor(database, checks=app.checks).examine(listening=False)
    own = [finding for finding in diagnosis.findings if finding.app == app.name]
    return Diagnosis(verdict=diagnosis.verdict, findings=own, checks=diagnosis.checks)


async def test_finding_of_an_app_names_its_check_and_app(aconnection: Connection) -> None:
    found = await examined(aconnection, App("shop", checks=[shelves]))

    [finding] = found.findings
    assert (finding.check, finding.app, finding.problem) == ("shop.shelves", "shop", "0 shelves are empty")
    assert found.verdict is Verdict.TROUBLE
    assert "shop.shelves" in found.checks


async def test_failing_check_becomes_a_warning_and_the_others_still_run(aconnection: Connection) -> None:
    found = await examined(aconnection, App("shop", checks=[no_table, shelves]))

    broken, well = found.findings
    if broken.check != "shop.no_table":
        broken, well = well, broken
    assert (broken.severity, well.check) == (Severity.WARNING, "shop.shelves")
    assert 'failed to run: UndefinedTable: relation "shop.shelves" does not exist' in broken.problem


async def test_check_that_does_not_end_is_abandoned(aconnection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "CHECK_SECONDS", 0.05)

    found = await examined(aconnection, App("shop", checks=[endless]))

    assert "failed to run: TimeoutError" in found.findings[0].problem


async def test_failing_check_leaves_the_callers_transaction_usable(aconnection: Connection) -> None:
    async with aconnection.transaction():
        database = InTransaction(aconnection, ACTOR)
        await Doctor(database, checks=App("shop", checks=[no_table]).checks).examine(listening=False)

        assert (await (await aconnection.execute("select 7")).fetchone()) == (7,)


async def test_app_alert_links_to_its_page_and_is_no_server_alert(aconnection: Connection) -> None:
    found = await examined(aconnection, App("shop", checks=[shelves]))

    [alert] = alerts.of_findings(found.findings)

    assert (alert.sentence, alert.path, alert.of_server) == ("0 shelves are empty.", "/shop", False)
