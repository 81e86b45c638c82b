"""A completion token finishes its task once."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.engine import Engine

WEEK = 7 * 86400


def issue(engine: Engine, task_id: int, seconds: float = WEEK) -> str:
    token: str = engine.value("select rolecall.issue_token(%s, make_interval(secs => %s))", task_id, seconds)
    return token


def complete(engine: Engine, token: str, result: object = None) -> int:
    task_id: int = engine.value("select rolecall.complete_by_token(%s, %s)", token, Jsonb(result))
    return task_id


def refused(engine: Engine, token: str) -> bool:
    with pytest.raises(psycopg.Error) as refusal:
        complete(engine, token)
    assert refusal.value.diag.message_primary == "the token is unknown, used or expired, or its task has finished"
    return refusal.value.sqlstate == "RC004"


def tokens(engine: Engine) -> int:
    number: int = engine.value("select count(*) from rolecall.task_tokens")
    return number


def test_token_completes_its_task(engine: Engine) -> None:
    task_id = engine.enqueue(after=7200)
    token = issue(engine, task_id)

    assert complete(engine, token, {"approved": True}) == task_id

    assert (engine.task(task_id).state, engine.task(task_id).result) == ("completed", {"approved": True})


def test_token_fails_its_task(engine: Engine) -> None:
    task_id = engine.enqueue()

    engine.value("select rolecall.fail_by_token(%s, 'declined')", issue(engine, task_id))

    assert (engine.task(task_id).state, engine.task(task_id).error) == ("failed", "declined")


def test_completion_by_token_can_continue_the_chain(engine: Engine) -> None:
    task_id = engine.enqueue(after=60)
    following = Jsonb({"continuation": {"role": "work"}})

    engine.value("select rolecall.complete_by_token(%s, 'true', %s)", issue(engine, task_id), following)

    assert engine.claim_one().chain_id == task_id


def test_token_is_long_and_only_its_digest_is_stored(engine: Engine) -> None:
    token = issue(engine, engine.enqueue())

    assert len(token.removeprefix("rct_")) == 64
    assert engine.value("select digest = sha256(%s::bytea) from rolecall.task_tokens", token.encode())
    assert token.encode() not in engine.value("select digest from rolecall.task_tokens")


def test_token_is_accepted_once(engine: Engine) -> None:
    token = issue(engine, engine.enqueue())
    complete(engine, token)

    assert refused(engine, token)


def test_using_one_token_invalidates_all_tokens_of_the_task(engine: Engine) -> None:
    task_id = engine.enqueue()
    accept, decline = issue(engine, task_id), issue(engine, task_id)
    complete(engine, accept)

    assert tokens(engine) == 0
    assert refused(engine, decline)


def test_unknown_token_is_rejected(engine: Engine) -> None:
    for token in ("", "rct_" + "0" * 64, "\N{SNOWMAN}"):
        assert refused(engine, token)


def test_expired_token_is_rejected(engine: Engine) -> None:
    task_id = engine.enqueue(after=7200)
    token = issue(engine, task_id, 60)
    engine.clock.advance(seconds=60)

    assert refused(engine, token)
    assert engine.task(task_id).state == "pending"


def test_token_of_a_finished_task_is_rejected(engine: Engine) -> None:
    task_id = engine.enqueue()
    token = issue(engine, task_id)
    engine.complete(engine.claim_one())

    assert refused(engine, token)


def test_token_is_valid_after_a_rolled_back_use(engine: Engine) -> None:
    token = issue(engine, engine.enqueue())
    engine.rows("begin")
    complete(engine, token)
    engine.rows("rollback")

    complete(engine, token)


@pytest.mark.parametrize("ended", [False, True])
def test_token_is_issued_for_open_tasks_only(engine: Engine, *, ended: bool) -> None:
    task_id = engine.enqueue() if ended else 4711
    if ended:
        engine.cancel(task_id)

    with pytest.raises(psycopg.Error) as refusal:
        issue(engine, task_id)

    assert refusal.value.sqlstate == "RC002"


@pytest.mark.parametrize("seconds", [0, -1, 11 * 366 * 86400])
def test_invalid_time_to_live_is_rejected(engine: Engine, seconds: int) -> None:
    task_id = engine.enqueue()

    with pytest.raises(psycopg.Error) as refusal:
        issue(engine, task_id, seconds)

    assert refusal.value.sqlstate == "RC040"


def test_invalid_tokens_are_pruned(engine: Engine) -> None:
    open_task, ended = engine.enqueue(after=WEEK), engine.enqueue()
    issue(engine, open_task)
    issue(engine, open_task, 60)
    issue(engine, ended)
    engine.cancel(ended)
    engine.clock.advance(seconds=61)

    assert engine.prune()["task_tokens"] == 2
    assert tokens(engine) == 1
