"""A pool with two million finished tasks, a hundred thousand open ones, five hundred roles and a thousand workers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from bench.server import Server
from rolecall.db.connect import connect
from rolecall.db.migrator import migrate
from rolecall.testing import Clock
from tests.dashboard.scenery import Scenery, furnish
from tests.sql.engine import Engine

FILL = Path(__file__).with_suffix(".sql")
CREWS = 8
HANDLERS = 3
ALIVE = 40
SLOTS = 8
FLEET_ROLES = 500
FLEET_WORKERS = 1_000
CHILDREN = 10_000
DONE_CHILDREN = 6_000
SCHEDULES = 30
A_DAY = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class FullPool:
    """Contents of the pool: the values for the paths of pages, and a tree that is too big for one page."""

    scenery: Scenery
    big_parent: int


def full_pool(server: Server) -> FullPool:
    """Fill the server's database unless it is full already, which takes some minutes."""
    with connect(server.dsn, "bench") as connection:
        known = _read(connection)
    if known is None:
        server.empty()
    with connect(server.dsn, "bench") as connection:
        connection.autocommit = True
        migrate(connection)
        if known is None:
            known = _fill(Engine(connection, Clock(server.dsn), server.dsn))
            _remember(connection, known)
        _keep_alive(connection)
    return known


def _fill(engine: Engine) -> FullPool:
    engine.rows("select rolecall.make_partitions()")
    scenery = furnish(engine)
    _declare(engine)
    big_parent = _big_tree(engine)
    for number in range(SCHEDULES):
        engine.put_schedule(
            f"every-hour-{number}", 3_600, role=f"crew-{number % CREWS}", handler=f"crew-{number % CREWS}-0"
        )
    for statement in FILL.read_text("utf-8").split(";\n\n"):
        engine.rows(statement)
    _work(engine)
    _large_fleet(engine)
    for roll_up in ("roll_up_counts", "roll_up_history"):
        while engine.value(f"select rolecall.{roll_up}()"):
            pass
    engine.rows("vacuum analyze")
    return FullPool(scenery=scenery, big_parent=big_parent)


def _declare(engine: Engine) -> None:
    roles = [{"name": f"crew-{number}", "lease": A_DAY, "description": "Fetches menus"} for number in range(CREWS)]
    handlers = [
        {"name": f"{role['name']}-{number}", "role": role["name"]} for role in roles for number in range(HANDLERS)
    ]
    engine.declare({"name": "trees", "lease": A_DAY}, *roles, handlers=[*handlers, *_tree_handlers()])


def _tree_handlers() -> Iterator[dict[str, str]]:
    for name in ("harvest", "pick", "weigh"):
        yield {"name": name, "role": "trees"}


def _big_tree(engine: Engine) -> int:
    parent = engine.enqueue("trees", handler="harvest", payload={"season": 2026})
    worker = engine.worker("trees", name="picker", slots=100)
    [claim] = engine.claim(1, "trees", worker=worker)
    children = [{"handler": ("pick", "weigh")[number % 2], "payload": {"tree": number}} for number in range(CHILDREN)]
    engine.complete(claim, next={"children": children, "serial": False, "gathers": True})
    for _ in range(0, DONE_CHILDREN, 1000):
        claims = engine.claim(1000, "trees", worker=worker)
        engine.finish(worker, *({"id": each.id, "fence": each.fence, "outcome": "completed"} for each in claims))
    return parent


def _work(engine: Engine) -> None:
    for number in range(ALIVE):
        role = f"crew-{number % CREWS}"
        worker = engine.worker(role, name=f"{role}-worker-{number}", slots=SLOTS)
        claims = engine.claim(SLOTS, role, worker=worker)
        engine.start(*claims)
        engine.rows("select rolecall.beat(%s, %s, false, %s)", worker, len(claims), Jsonb({"cpu": 0.4, "memory": 0.3}))


def _large_fleet(engine: Engine) -> None:
    roles = [f"fleet-{number}" for number in range(FLEET_ROLES)]
    handlers = [{"name": f"{role}-{number}", "role": role} for role in roles for number in range(HANDLERS)]
    engine.declare(*({"name": role} for role in roles), handlers=handlers)
    engine.rows(
        """select rolecall.register_worker(format('fleet-worker-%%s', n), array[role], (
            select array_agg(format('%%s-%%s', role, handler)) from generate_series(0, %s) as handler
        ), 8, null, null, null, null, null)
        from (select n, format('fleet-%%s', n %% %s) as role from generate_series(1, %s) as n) as fleet""",
        HANDLERS - 1,
        FLEET_ROLES,
        FLEET_WORKERS,
    )


def _keep_alive(connection: psycopg.Connection[Any]) -> None:
    """Keep the workers, which are only rows, alive while the pages are measured."""
    connection.execute(
        "update rolecall.workers set heartbeat_at = rolecall.clock() + interval '1 day' where stopped_at is null"
    )


def _remember(connection: psycopg.Connection[Any], known: FullPool) -> None:
    connection.execute("create table public.full_pool (known jsonb not null)")
    connection.execute("insert into public.full_pool values (%s)", [Jsonb(asdict(known))])


def _read(connection: psycopg.Connection[Any]) -> FullPool | None:
    if connection.execute("select to_regclass('public.full_pool')").fetchone() == (None,):
        return None
    [[known]] = connection.execute("select known from public.full_pool").fetchall()
    return FullPool(scenery=Scenery(**known["scenery"]), big_parent=known["big_parent"])
