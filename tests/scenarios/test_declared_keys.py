"""A handler's own key, through every door of the product."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx2

from rolecall import AsyncClient, Client, Context
from tests.web.doors import unguarded
from tests.worker.bench import Bench, until

SOLE = {"store": 4}


@dataclass(frozen=True, slots=True)
class Doors:
    """The product on a database, and its server."""

    bench: Bench
    http: httpx2.AsyncClient

    async def post(self, path: str, **body: Any) -> httpx2.Response:
        answer = await self.http.post(path, **body)
        assert answer.status_code in (200, 201, 303), answer.text
        return answer


Way = Callable[[Doors, str], Awaitable[None]]


async def by_client(doors: Doors, by: str) -> None:
    with Client(doors.bench.dsn, app=doors.bench.app) as client:
        client.enqueue("fetch", SOLE | {"by": by})


async def by_async_client(doors: Doors, by: str) -> None:
    async with AsyncClient(doors.bench.dsn, app=doors.bench.app) as client:
        await client.enqueue_many([doors.bench.app.handlers["fetch"].task(store=4, by=by)])


async def by_api(doors: Doors, by: str) -> None:
    await doors.post("/api/tasks", json={"handler": "fetch", "payload": SOLE | {"by": by}})


async def by_api_batch(doors: Doors, by: str) -> None:
    await doors.post("/api/tasks/batch", json={"tasks": [{"handler": "fetch", "payload": SOLE | {"by": by}}]})


async def by_form(doors: Doors, by: str) -> None:
    await doors.post("/jobs/fetch", data={"payload.store": "4", "payload.by": by})


async def by_command(doors: Doors, by: str) -> None:
    words = ["-m", "rolecall", "enqueue", "fetch", json.dumps(SOLE | {"by": by})]
    command = await asyncio.create_subprocess_exec(
        sys.executable, *words, env=os.environ | {"DATABASE_URL": doors.bench.dsn}
    )
    assert await command.wait() == 0


async def by_sql(doors: Doors, by: str) -> None:
    doors.bench.ask("select rolecall.enqueue('r', jsonb_build_object('store', 4, 'by', %s::text), 'fetch')", by)


async def by_schedule(doors: Doors, by: str) -> None:
    schedule = {"name": "nightly", "handler": "fetch", "every": 86400, "payload": SOLE | {"by": by}}
    made = await doors.post("/api/schedules", json=schedule)
    await doors.post(f"/api/schedules/{made.json()['id']}/trigger")


async def by_handler(doors: Doors, by: str) -> None:
    doors.bench.enqueue(doors.bench.app.handlers["spread"].task(by=by))


WAYS: list[Way] = [
    by_client,
    by_async_client,
    by_api,
    by_api_batch,
    by_form,
    by_command,
    by_sql,
    by_schedule,
    by_handler,
]


async def test_two_tasks_of_one_store_never_run_concurrently_from_any_enqueue_path(
    bench: Bench,
) -> None:
    running: set[str] = set()
    met: list[set[str]] = []
    done: list[str] = []

    @bench.app.task(role="r", key="store:{store}")
    async def fetch(store: int, by: str) -> None:
        running.add(by)
        met.append(set(running))
        await asyncio.sleep(0.02)
        running.remove(by)
        done.append(by)

    @bench.app.task(role="r")
    async def spread(ctx: Context, by: str) -> None:
        ctx.follow_up(fetch.task(store=4, by=f"{by} as a follow-up"))
        ctx.continue_with(fetch.task(store=4, by=f"{by} as a continuation"))

    bench.enqueue()
    application = unguarded(bench.dsn, bench.app)
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app=application), base_url="http://test") as http,
    ):
        for way in WAYS:
            await way(Doors(bench, http), way.__name__)
    wanted = {way.__name__ for way in WAYS} - {"by_handler"}
    wanted |= {"by_handler as a follow-up", "by_handler as a continuation"}

    async with bench.working(slots=20):
        await until(lambda: len(done) >= len(wanted))

    assert set(done) == wanted
    assert max(map(len, met)) == 1, f"these ran together: {max(met, key=len)}"
    assert bench.ask("select count(distinct key) = 1 from rolecall.all_tasks where handler = 'fetch'")
