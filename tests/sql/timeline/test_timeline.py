"""The timeline of a task, from its row and its events."""

from __future__ import annotations

from tests.sql.engine import LEASE, Engine


def story(engine: Engine, task_id: int) -> list[tuple[str, int | None]]:
    return engine.rows("select kind, attempt from rolecall.timeline(%s)", task_id)


def test_completed_task_has_created_claimed_started_and_completed_events(engine: Engine) -> None:
    task_id = engine.enqueue()
    [claim] = engine.claim(start=0)
    engine.clock.advance(seconds=1)
    engine.start(claim)
    engine.clock.advance(seconds=1)
    engine.complete(claim)

    assert story(engine, task_id) == [("created", None), ("claimed", 1), ("started", 1), ("completed", 1)]


def test_every_failure_and_interruption_has_an_event(engine: Engine) -> None:
    task_id = engine.enqueue(retry={"kind": "linear", "step": 0}, max_attempts=9)
    ends = (
        engine.fail,
        lambda claim: engine.snooze(claim, 0),
        engine.release,
        lambda _: engine.clock.advance(seconds=LEASE + 1),
    )
    for end in ends:
        end(engine.claim_one())
        engine.rescue()
        engine.clock.advance(seconds=1)
    engine.cancel(task_id)
    engine.retry(task_id)

    losses = ["error", "snoozed", "shutdown", "crashed"]
    claims = {"claimed", "started"}
    assert [kind for kind, _ in story(engine, task_id) if kind not in claims] == [
        "created", *losses, "cancelled", "retried",
    ]  # fmt: skip
    assert [kind for kind, _ in story(engine, task_id)].count("claimed") == len(losses)


def test_every_attempt_has_claimed_and_started_events(engine: Engine) -> None:
    task_id = engine.enqueue(retry={"kind": "linear", "step": 0})
    for _ in range(2):
        engine.clock.advance(seconds=1)
        [claim] = engine.claim(start=0)
        engine.clock.advance(seconds=1)
        engine.start(claim)
        engine.clock.advance(seconds=1)
        engine.fail(claim)
    engine.clock.advance(seconds=1)
    engine.claim(start=0)

    attempt = ["claimed", "started", "error"]
    assert [kind for kind, _ in story(engine, task_id)] == ["created", *attempt, *attempt, "claimed"]
    workers = engine.rows("select count(distinct worker_id) from rolecall.timeline(%s) where kind = 'claimed'", task_id)
    assert workers == [(3,)]


def test_event_contains_the_worker_and_the_error(engine: Engine) -> None:
    task_id = engine.enqueue()
    claim = engine.claim_one()
    engine.fail(claim, "boom")

    assert engine.rows("select worker_id, detail from rolecall.timeline(%s) where kind = 'error'", task_id) == [
        (claim.worker_id, "boom")
    ]


def test_unknown_task_has_no_events(engine: Engine) -> None:
    assert story(engine, 4711) == []
