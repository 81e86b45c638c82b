"""SQL handlers for the tests: short procedures that are declared and run as a worker runs them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import psycopg

from tests.sql.engine import Claim, Document, Engine

NEVER = {"kind": "none"}
COUNT = "insert into shop.counted values ((payload ->> 'n')::int);"
# A test that holds this lock makes a procedure wait while it runs.
WAIT = "perform pg_advisory_xact_lock(1);"
WAITING = (
    "exists (select from pg_locks where locktype = 'advisory' and objid = 1 and not granted"
    " and database = (select oid from pg_database where datname = current_database()))"
)


class End(NamedTuple):
    """A row of rolecall.run_procedure."""

    lost: str | None
    error: str | None


def procedure(engine: Engine, name: str, body: str) -> None:
    """Create the procedure shop.<name>(payload jsonb, inout info jsonb)."""
    _create(engine, f"{name}(payload jsonb, inout info jsonb)", body)


def hook(engine: Engine, name: str, body: str) -> None:
    """Create the procedure shop.<name>(payload jsonb): a hook, or a handler without an info."""
    _create(engine, f"{name}(payload jsonb)", body)


def silent_hook(engine: Engine, name: str, body: str) -> None:
    """Create the procedure shop.<name>()."""
    _create(engine, f"{name}()", body)


def handler(engine: Engine, body: str, name: str = "count", **words: object) -> None:
    """Create a procedure and declare it as the handler of that name in the role 'work'."""
    procedure(engine, name, body)
    declare(engine, name, **words)


def declare(engine: Engine, name: str = "count", **words: object) -> None:
    document = {"name": name, "role": "work", "procedure": f"shop.{name}", **words}
    engine.declare(handlers=[document])


def run(engine: Engine, claim: Claim) -> End:
    """Run a claim as a worker does, with the before hook first in its own transaction."""
    about = (claim.worker_id, claim.id, claim.fence)
    engine.rows("select rolecall.run_before_hook(%s, %s, %s)", *about)
    [end] = engine.rows("select * from rolecall.run_procedure(%s, %s, %s)", *about)
    return End(*end)


def run_one(engine: Engine, name: str = "count", **words: object) -> tuple[int, End]:
    """Enqueue a task, claim it and run it; return its id and the result."""
    task_id = engine.enqueue(handler=name, **words)
    return task_id, run(engine, engine.claim_one())


def table(engine: Engine) -> None:
    """Create the table shop.counted (n int)."""
    engine.rows("create schema if not exists shop")
    engine.rows("create table shop.counted (n int)")


def counted(engine: Engine) -> list[int]:
    return [n for (n,) in engine.rows("select n from shop.counted order by n")]


def process(engine: Engine, **words: object) -> None:
    """CALL rolecall.process_tasks in the current transaction, if any."""
    given = ", ".join(f"p_{name} => %s" for name in words)
    engine.rows(f"call rolecall.process_tasks({given})", *words.values())


def spawning(children: list[Document], *, serial: bool = False) -> str:
    """Return the body of a procedure that spawns these tasks as its children."""
    return f"perform rolecall.spawn(rolecall.current_task(), '{json.dumps(children)}', {serial});"


@contextmanager
def another(engine: Engine) -> Iterator[Engine]:
    """Open a session for a thread, with the current fake time."""
    with psycopg.connect(engine.database, autocommit=True) as connection:
        yield Engine(connection, engine.clock, engine.database)


@contextmanager
def beside(action: Callable[[], object]) -> Iterator[list[psycopg.Error]]:
    """Run a function in a thread during the block, join it, and raise its error."""
    errors: list[psycopg.Error] = []

    def act() -> None:
        try:
            action()
        except psycopg.Error as error:
            errors.append(error)

    thread = threading.Thread(target=act)
    thread.start()
    try:
        yield errors
    finally:
        thread.join()


def until(engine: Engine, question: str) -> None:
    """Wait in the database until the condition is true; fail after 30 s."""
    engine.rows(
        f"do $$ begin for turn in 1..3000 loop exit when ({question}); perform pg_sleep(0.01); "
        f"perform pg_stat_clear_snapshot(); end loop; if not ({question}) then raise 'never so'; end if; end $$"
    )


def _create(engine: Engine, signature: str, body: str) -> None:
    engine.rows("create schema if not exists shop")
    engine.rows(f"create or replace procedure shop.{signature} language plpgsql as $body$ begin {body} end $body$")
