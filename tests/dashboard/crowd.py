"""A large pool: hundreds of roles, many workers, and errors of 2,000 characters without a space."""

from __future__ import annotations

from tests.dashboard.crews import join
from tests.dashboard.scenery import Scenery
from tests.sql.engine import Document, Engine

LONG_ERROR = "fleet.errors.Unbroken:" + "0123456789abcdef" * 125


def declare_roles(engine: Engine, number: int) -> None:
    """Declare this many roles with a handler and a task each, and register a worker that serves them all."""
    names = [f"tenant-{index:03}-refresh" for index in range(number)]
    handlers: list[Document] = [{"name": name.replace("-", "_"), "role": name} for name in names]
    engine.declare(*({"name": name, "description": "Refreshes a tenant"} for name in names), handlers=handlers)
    engine.enqueue_many([{"role": each["role"], "handler": each["name"]} for each in handlers])
    join(engine, "general-worker")


def join_workers(engine: Engine, number: int) -> None:
    """Register this many workers of different roles, with their load."""
    for index in range(number):
        join(engine, f"crew-{index:04}-worker", f"tenant-{index % 40:03}-refresh", cpu=0.4, memory=0.8)


def fail_at_length(engine: Engine) -> Scenery:
    """Store the long error in a task, a child, a chain, an attempt and a schedule."""
    engine.declare({"name": "long"}, handlers=[{"name": "post", "role": "long"}])
    worker = engine.worker("long", name="worker-" + "w" * 60, slots=8)
    failed = engine.enqueue("long", handler="post", max_attempts=2, key="customer:" + "k" * 150)
    for _ in range(2):
        claim = engine.claim_one(worker=worker)
        engine.start(claim)
        engine.fail(claim, LONG_ERROR)
        engine.rows("update rolecall.tasks set scheduled_for = rolecall.clock() where id = %s", failed)
    parent = engine.enqueue("long", handler="post")
    claim = engine.claim_one(worker=worker)
    engine.start(claim)
    children: list[Document] = [{"handler": "post", "max_attempts": 1}]
    engine.complete(claim, next={"children": children, "serial": False, "gathers": True})
    engine.fail(engine.claim_one(worker=worker), LONG_ERROR)
    schedule = engine.put_schedule("hourly", 3_600, role="long", handler="post")
    engine.rows("update rolecall.schedules set last_error = %s, last_run_at = now()", LONG_ERROR)
    query = "select rolecall.start_bulk_action('retry', '{\"role\": \"long\"}', 'ada', 1)"
    bulk_action = int(engine.value(query))
    return Scenery(
        task_id=failed,
        chain_id=failed,
        worker_id=worker,
        schedule_id=schedule,
        parent_id=parent,
        failed_id=failed,
        group_id=engine.task(failed).error_group or 0,
        bulk_action_id=bulk_action,
        handler="post",
        name="long",
    )
