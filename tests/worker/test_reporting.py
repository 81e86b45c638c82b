from __future__ import annotations

import logging
import re

import pytest

from tests.worker.bench import Bench, until


@pytest.fixture
def one_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker reports its counts when it stops, not before. It returns no task meanwhile, which would count."""
    monkeypatch.setattr("rolecall.worker.wiring.SUMMARY_EVERY", 3600)
    monkeypatch.setattr("rolecall.worker.producer.STALE_AFTER", 3600)


@pytest.mark.usefixtures("one_summary")
async def test_log_shows_the_start_claims_and_outcomes_of_a_worker(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:

    @bench.app.task(role="mail", max_attempts=1)
    async def send(n: int) -> None:
        if n:
            raise ValueError("no such address")

    first, second = bench.enqueue(send.task(n=0).options(key="customer:7"), send.task(n=1))
    with caplog.at_level(logging.DEBUG, "rolecall.worker"):
        async with bench.working(roles=("mail",), name="postman"):
            await bench.finished(first, second)

    worker_id = bench.ask("select id from rolecall.workers")
    logged = [record.getMessage() for record in caplog.records]
    assert f"Starting worker postman (number {worker_id}) for role: mail (slots: 1)" in logged
    assert f"Claimed task {first} (mail) for customer:7 attempt 1" in logged
    assert f"Task {first} (mail) for customer:7 completed" in logged
    assert f"Task {second} (send) failed at attempt 1: ValueError: no such address" in logged
    assert any(re.match(r"Attempts: 1 completed, 1 failed in .*, 0 unfinished", line) for line in logged)


@pytest.mark.usefixtures("one_summary")
async def test_burst_of_failures_is_summarized_instead_of_logged_singly(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    @bench.app.task(max_attempts=1)
    async def broken() -> None:
        raise ValueError("again")

    ids = bench.enqueue(*(broken.task() for _ in range(50)))
    with caplog.at_level(logging.WARNING, "rolecall.worker"):
        async with bench.working():
            await bench.finished(*ids)

    assert sum("failed at attempt" in record.getMessage() for record in caplog.records) < 25
    assert "More tasks fail" in caplog.text


async def test_worker_without_a_name_is_named_after_its_role(bench: Bench) -> None:

    @bench.app.task(role="mail")
    async def send() -> None: ...

    bench.enqueue()
    async with bench.working(roles=("mail",)):
        await until(lambda: bench.ask("select name from rolecall.workers"))

    assert re.fullmatch(r"worker-mail-[0-9a-f]{8}", bench.ask("select name from rolecall.workers"))


async def test_log_line_of_a_failure_includes_its_traceback(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    @bench.app.task(max_attempts=1)
    async def stumble() -> None:
        raise ValueError("over a stone")

    (task_id,) = bench.enqueue(stumble.task())
    async with bench.working():
        await bench.finished(task_id)

    [failed] = [record for record in caplog.records if "failed at attempt" in record.getMessage()]
    assert failed.getMessage() == f"Task {task_id} (stumble) failed at attempt 1: ValueError: over a stone"
    assert 'raise ValueError("over a stone")' in vars(failed)["traceback"]
