"""Claims that exclude other workers are durable at commit, whatever the session's settings."""

from __future__ import annotations

import pytest

from tests.sql.engine import Document, Engine


def durability(engine: Engine, limit: int = 1) -> str:
    """Claim in a session with asynchronous commits; return the synchronous_commit of the transaction."""
    worker = engine.worker()
    with engine.connection.transaction():
        engine.rows("set local synchronous_commit = off")
        assert engine.claim(limit, worker=worker)
        setting: str = engine.value("show synchronous_commit")
    return setting


@pytest.mark.parametrize(
    ("task", "waits"),
    [
        pytest.param({}, "off", id="an ordinary task"),
        pytest.param({"max_attempts": 0}, "off", id="any number of attempts"),
        pytest.param({"key": "k"}, "on", id="a key"),
        pytest.param({"max_attempts": 1}, "on", id="an only attempt"),
    ],
)
def test_claim_commits_durably_if_a_lost_claim_would_allow_two_concurrent_runs(
    engine: Engine, task: Document, waits: str
) -> None:
    engine.enqueue(**task)

    assert durability(engine) == waits


def test_only_the_claim_of_the_last_attempt_is_durable(engine: Engine) -> None:
    engine.enqueue(max_attempts=2, retry={"kind": "linear", "step": 0})

    assert durability(engine) == "off"
    [claim] = engine.rows("select worker_id, id, fence from rolecall.tasks")
    engine.finish(claim[0], {"id": claim[1], "fence": claim[2], "outcome": "failed", "error": "boom"})
    assert durability(engine) == "on"


def test_one_durable_task_makes_the_whole_claim_durable(engine: Engine) -> None:
    engine.enqueue_many([{"role": "work"}] * 5 + [{"role": "work", "key": "k"}])

    assert durability(engine, limit=10) == "on"


def test_parent_with_a_key_is_claimed_durably_between_two_steps(engine: Engine) -> None:
    parent = engine.enqueue(key="k")
    engine.complete(engine.claim_one(), next={"children": [{"role": "work"}], "gathers": True})
    engine.complete(engine.claim_one())
    assert engine.state(parent) == "pending"

    assert durability(engine) == "on"
