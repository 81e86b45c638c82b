"""Large results and payloads in a real bucket."""

from __future__ import annotations

from pathlib import Path

import pytest

from apps.storecrawl.tests.buckets import BUCKET, SECRET, serving_buckets
from rolecall import App, AsyncClient, immediate
from rolecall.model.errors import ResultMissing
from rolecall.results import LargeValues, open_store
from tests.worker.bench import Bench

LARGE = "x" * 2_000_000


def test_object_is_stored_and_read_and_an_error_reveals_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving_buckets(tmp_path) as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        store = open_store(f"s3://{BUCKET}/results")
        store.put("7-1.json", b"[1]")

        assert (store.url, store.get("7-1.json")) == (f"s3://{BUCKET}/results", b"[1]")
        with pytest.raises(ResultMissing) as missing:
            store.get("8-1.json")
        assert SECRET not in str(missing.value)


async def test_payload_in_a_temporarily_unavailable_bucket_is_delivered(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Enqueued and read again. With wrong credentials, the error names the unreadable field and no secret."""
    with serving_buckets(tmp_path) as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        bench.app = App("test", large=LargeValues(f"s3://{BUCKET}/large"))

        @bench.app.task(retry=immediate(), max_attempts=50)
        async def leaf(text: str) -> int:
            return len(text)

        async with AsyncClient(bench.dsn, app=bench.app) as client:
            task = await client.enqueue(leaf, text=LARGE)
        right, wrong = bench.app.large, {**variables, "AWS_SECRET_ACCESS_KEY": f"{SECRET}-no-more"}
        for name, value in wrong.items():
            monkeypatch.setenv(name, value)
        bench.app.large = LargeValues(f"s3://{BUCKET}/large")
        async with bench.working():
            await bench.ended_once(task.id)
        error = str(bench.task(task.id).error)
        bench.app.large = right
        async with bench.working():
            [done] = await bench.finished(task.id)

    assert "the field 'text' of the payload cannot be read: the object payload-" in error
    assert SECRET not in error
    assert (done.result, done.attempt > 1) == (len(LARGE), True)
