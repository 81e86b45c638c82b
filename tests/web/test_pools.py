"""Several pools on one server: their figures, a pool that is away, and the separation of their sessions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager

import httpx2
import psycopg
import pytest

from rolecall import App
from rolecall.config import AccessSettings, AuthMode, DatabaseSettings, ScalingSettings, Settings
from rolecall.config.handoff import HandoffSettings
from rolecall.model.audit import Actor, AuditFilter
from rolecall.model.errors import ConfigError
from rolecall.model.operator.access import Scope
from rolecall.service.database import PooledDatabase
from rolecall.service.services import Services
from rolecall.testing import TestServer, clone
from rolecall.web.access.passwords import hash_password
from rolecall.web.pools import watch
from rolecall.web.pools.application import build_pools, settings_of
from rolecall.web.state import WebState
from tests.outage import outage
from tests.web.doors import PASSWORD, SITE

# No server listens at this port, and only root could start one.
AWAY = "postgresql://someone@127.0.0.1:1/nothing"
TOKEN = "rl_" + "t" * 43
SHARED_SERVERS = [
    Settings(database=DatabaseSettings(standby_url=AWAY)),
    Settings(database=DatabaseSettings(listen_url=AWAY)),
    Settings(handoff=HandoffSettings(low="redis://127.0.0.1:1/0", high="redis://127.0.0.1:1/0")),
    Settings(notifications="nats://127.0.0.1:1"),
]


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for pools that are only slow, because the machine is busy."""
    monkeypatch.setattr(watch, "PATIENCE", 30.0)


@pytest.fixture
def other(postgres_server: TestServer, database_template: str) -> Iterator[str]:
    with clone(postgres_server, database_template) as dsn:
        yield dsn


@pytest.fixture
def pools(database: str, other: str) -> dict[str, str]:
    """Two pools. In the first one, two tasks are ready."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("select rolecall.declare('[{\"name\": \"sums\"}]', '[]')")
        connection.execute("select rolecall.enqueue('sums'), rolecall.enqueue('sums')")
    return {"billing": database, "mail": other}


@asynccontextmanager
async def opened(
    pools: Mapping[str, str], auth: AuthMode = AuthMode.keys, base_url: str = SITE, hosts: frozenset[str] | None = None
) -> AsyncIterator[tuple[httpx2.AsyncClient, dict[str, Services]]]:
    """Open a server with these pools; yield a client, and the services of each pool."""
    settings = Settings(access=AccessSettings(auth=auth, token=TOKEN))
    front = build_pools(pools, App("test"), settings, hosts=hosts)
    services = {
        pool.place.name: Services(PooledDatabase(pool.state.pool, Actor(name="root", via="cli")))
        for pool in front.state.front.pools
    }
    async with (
        front.router.lifespan_context(front),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app=front), base_url=base_url) as client,
    ):
        yield client, services


async def test_person_sees_the_figures_of_the_pools_that_they_are_logged_in_to(pools: dict[str, str]) -> None:
    async with opened(pools) as (client, services):
        await services["billing"].people.add("ada", Scope.READ, hash_password(PASSWORD))
        await client.post("/pools/billing/api/login", json={"name": "ada", "password": PASSWORD})

        billing, mail = (await client.get("/api/pools")).json()
        page = (await client.get("/")).text
        answers = [(await client.get(f"/pools/{name}/api/roles")).status_code for name in pools]

    assert (billing["figures"]["ready"], billing["figures"]["workers"], billing["may_read"]) == (2, 0, True)
    assert (mail["figures"], mail["may_read"], mail["away"]) == (None, False, None)
    assert answers == [200, 401]
    assert page.count("to see the figures") == 1


async def test_key_of_one_pool_shows_its_figures_and_is_no_refused_attempt_in_the_other(pools: dict[str, str]) -> None:
    async with opened(pools) as (client, services):
        key = await services["mail"].keys.create("deploy", Scope.READ)

        answer = await client.get("/api/pools", headers={"authorization": f"Bearer {key.secret}"})

        refused = await services["billing"].audit.list(AuditFilter(action="keys.refused"))

    assert [(each["name"], each["may_read"]) for each in answer.json()] == [("billing", False), ("mail", True)]
    assert refused == []


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer rk_unknown"}])
async def test_stranger_gets_no_list_and_sees_no_figures(pools: dict[str, str], headers: dict[str, str]) -> None:
    async with opened(pools) as (client, _):
        answer = await client.get("/api/pools", headers=headers)
        page = (await client.get("/", headers=headers)).text

    assert answer.status_code == 401
    assert page.count("to see the figures") == 2


async def test_pool_that_never_answers_does_not_hold_up_the_others(
    pools: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def wait_for_ever(state: WebState) -> None:
        if state.settings.database.url == AWAY:
            await asyncio.Event().wait()

    monkeypatch.setattr(watch, "require_ready", wait_for_ever)
    monkeypatch.setattr(watch, "PATIENCE", 0.2)
    async with opened({**pools, "gone": AWAY}, AuthMode.off) as (client, _):
        while [each["figures"] is not None for each in (await client.get("/api/pools")).json()] != [True, True, False]:
            pass
        ready = await client.get("/readyz")

    assert ready.status_code == 200


async def test_pool_comes_back_with_its_database(pools: dict[str, str]) -> None:
    async with opened(pools, AuthMode.off) as (client, _):
        with outage(pools["mail"]):
            while (await client.get("/api/pools")).json()[1]["away"] is None:
                pass
            during = (await client.get("/api/pools")).json()
        while (await client.get("/api/pools")).json()[1]["figures"] is None:
            pass
        after = (await client.get("/api/pools")).json()

    assert during[0]["figures"]["ready"] == 2
    assert (during[1]["away"], during[1]["figures"]) == ("the database does not respond", None)
    assert during[1]["away_since"] is not None
    assert (after[1]["away"], after[1]["away_since"]) == (None, None)


async def test_local_token_opens_a_session_in_every_pool(pools: dict[str, str]) -> None:
    async with opened(pools, AuthMode.token) as (client, _):
        moved = await client.get(f"/enter?token={TOKEN}")
        address = moved.headers["location"]
        await client.get(address)
        states = (await client.get(httpx2.URL(address).join("/api/pools"))).json()
        wrong = await client.get("/enter?token=rl_wrong")

    assert [each["may_read"] for each in states] == [True, True]
    assert wrong.status_code == 401


async def test_page_leads_to_the_same_page_of_another_pool_and_from_a_task_to_its_list(pools: dict[str, str]) -> None:
    async with opened(pools, AuthMode.off) as (client, _):
        tasks = (await client.get("/pools/billing/tasks?role=sums&cursor=")).text
        task = (await client.get("/pools/billing/tasks/1")).text

    assert 'href="/pools/mail/tasks?role=sums"' in tasks
    assert 'href="/pools/mail/tasks"' in task


@pytest.mark.parametrize("settings", SHARED_SERVERS)
def test_server_of_one_pool_is_not_shared_by_all(settings: Settings) -> None:
    with pytest.raises(ConfigError, match="one database"):
        build_pools({"billing": AWAY, "mail": AWAY}, App("test"), settings)


def test_pool_cannot_scale_the_workload_of_the_cluster() -> None:
    settings = Settings(scaling=ScalingSettings(in_cluster=True))

    assert not settings_of(settings, AWAY).scaling.in_cluster
