"""Expired tasks are never claimed, even before they are cancelled."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.sql.engine import Engine


def claims(engine: Engine) -> list[int]:
    return [claim.id for claim in engine.claim(10)]


def one_by_one(engine: Engine) -> list[int]:
    return [claim.id for claim in engine.claim(1)]


def in_order(engine: Engine) -> list[int]:
    return [claim.id for claim in engine.claim_in_order(engine.worker())]


def by_id(engine: Engine) -> list[int]:
    return [claim.id for claim in engine.claim_these(*(task.id for task in engine.tasks()))[0]]


def offered(engine: Engine) -> list[int]:
    return engine.offers()


@pytest.mark.parametrize("ask", [claims, one_by_one, in_order, by_id, offered])
@pytest.mark.parametrize("key", [None, "k"])
def test_expired_tasks_are_skipped(engine: Engine, ask: Callable[[Engine], list[int]], key: str | None) -> None:
    engine.enqueue(expires=30, key=key)
    alive = engine.enqueue(expires=31, key=key)
    engine.clock.advance(seconds=30)

    assert ask(engine) == [alive]


@pytest.mark.parametrize("roles", [1, 2])
def test_expired_tasks_of_several_lines_are_skipped(engine: Engine, roles: int) -> None:
    """This includes lines of single-attempt tasks."""
    engine.declare({"name": "other", "max_attempts": 1})
    names = ("work", "other")[:roles]
    for name in names:
        engine.enqueue(name, expires=30)
    alive = [engine.enqueue(name) for name in names]
    engine.clock.advance(seconds=30)

    assert [claim.id for claim in engine.claim(10, start=2)] == alive


def test_claim_by_id_returns_expired_for_an_expired_task(engine: Engine) -> None:
    late = engine.enqueue(expires=30)
    engine.clock.advance(seconds=30)

    assert engine.claim_these(late) == ([], {late: "expired"})


def test_prefetched_task_has_the_time_left_until_its_expiry(engine: Engine) -> None:
    engine.enqueue(expires=30)
    engine.enqueue()
    engine.clock.advance(seconds=10)

    assert [claim.expires_seconds for claim in engine.claim_in_order(engine.worker())] == [20, None]


def test_sql_worker_cancels_an_expired_task_without_running_it(engine: Engine) -> None:
    engine.rows("create procedure public.push(payload jsonb) language sql as 'select'")
    engine.rows("select rolecall.declare_procedure('push', 'public.push', 'work')")
    late, alive = engine.enqueue(handler="push", expires=30), engine.enqueue(handler="push")
    engine.clock.advance(seconds=30)

    engine.rows("call rolecall.process_tasks()")

    assert engine.states() == {late: "cancelled", alive: "completed"}
    assert engine.task(late).attempt == 0


def test_expired_task_is_neither_next_due_nor_work_left(engine: Engine) -> None:
    engine.enqueue(expires=30)
    engine.clock.advance(seconds=30)
    worker = engine.worker()

    assert engine.value("select rolecall.next_due_for(%s, '{}', '{work}')", worker) is None
    assert engine.value("select rolecall.is_work_left(%s, '{}', '{work}')", worker) is False
