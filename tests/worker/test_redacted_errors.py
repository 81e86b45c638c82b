"""Redacted values are in no stored error and in no line of the worker's log."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Annotated

import pytest
from pydantic import BaseModel, SecretStr

from rolecall import Cancel, Context, Redacted
from rolecall.config import LogFormat, LogLevel, LogSettings
from rolecall.model.tasks import NewTask
from rolecall.telemetry.logs import set_up_logging
from tests.secrets import CANARY
from tests.worker.bench import Bench
from tests.worker.crunching import refuse_to_log_in


class Login(BaseModel):
    password: SecretStr


@dataclass
class Item:
    n: int
    pin: Annotated[str, Redacted]


@pytest.fixture
def logged() -> io.StringIO:
    """Record everything that this process logs, at all levels."""
    stream = io.StringIO()
    set_up_logging(LogSettings(format=LogFormat.text, level=LogLevel.debug), stream)
    return stream


async def test_error_containing_a_redacted_value_is_stored_and_logged_without_it(
    bench: Bench, logged: io.StringIO
) -> None:
    """Covers errors of a coroutine, a thread and a process, values within a model, and given reasons."""

    @bench.app.task(max_attempts=1)
    async def awaited(token: Annotated[str, Redacted]) -> None:
        raise ValueError(f"401 for https://x?token={token}") from KeyError(token)

    @bench.app.task(max_attempts=1)
    def threaded(login: Login) -> None:
        raise ValueError(f"wrong: {login.password.get_secret_value()!r}")

    @bench.app.task(max_attempts=1)
    async def cancelled(ctx: Context, token: Annotated[str, Redacted]) -> Cancel:
        return Cancel(f"{token} has expired")

    in_process = bench.app.task(max_attempts=1, process=True)(refuse_to_log_in)
    login = Login(password=SecretStr(CANARY))
    ids = bench.enqueue(
        awaited.task(token=CANARY),
        threaded.task(login=login),
        cancelled.task(token=CANARY),
        in_process.task(token=CANARY),
    )
    async with bench.working():
        ended = await bench.finished(*ids)

    errors = [task.error or "" for task in ended]
    assert all("[redacted]" in error for error in errors)
    assert CANARY not in " ".join(errors)
    assert "401 for https://x?token=[redacted]" in logged.getvalue()
    assert CANARY not in logged.getvalue()


async def test_batch_error_reveals_no_redacted_value_of_its_tasks(bench: Bench) -> None:
    @bench.app.task(max_attempts=1, batch=2)
    async def together(items: list[Item]) -> None:
        raise ValueError(" ".join(item.pin for item in items))

    ids = bench.enqueue(*(together.task(n=n, pin=f"{CANARY}-{n}") for n in range(2)))
    async with bench.working():
        ended = await bench.finished(*ids)

    assert CANARY not in " ".join(str(task.error) for task in ended)


async def test_incompatible_payload_error_names_the_field_and_not_its_value(bench: Bench, logged: io.StringIO) -> None:
    @bench.app.task
    async def unlock(login: Login, n: int) -> None: ...

    [task_id] = bench.enqueue(NewTask(handler="unlock", payload={"login": {"password": [CANARY]}, "n": 1}))
    async with bench.working():
        await bench.ended_once(task_id)

    result = str(bench.ask("select jsonb_agg(to_jsonb(event)) from rolecall.task_events as event"))
    assert "login" in result
    assert CANARY not in result + str(bench.task(task_id).error) + logged.getvalue()
