"""Large results are stored in a folder, and the row contains a pointer."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rolecall import BatchContext, ConfigError, Snooze
from rolecall.model.errors import ResultMissing
from rolecall.results import FolderStore, LargeResults, open_store
from tests.worker.bench import Bench

LARGE = "x" * 2_000_000


@dataclass
class Item:
    n: int


async def test_large_result_is_stored_elsewhere_and_can_be_read(bench: Bench, tmp_path: Path) -> None:
    """Covers results above the limit of a row and results declared as large, of single handlers and of batches."""
    large = LargeResults(tmp_path / "results", over=100)
    bench.app.use(large)

    @bench.app.task
    async def export() -> list[str]:
        return [LARGE]

    @bench.app.task
    def small() -> dict[str, int]:
        return {"n": 1}

    @bench.app.task(batch=2)
    async def several(ctx: BatchContext, items: list[Item]) -> list[Any]:
        return [LARGE if item.n else item.n for item in items]

    ids = bench.enqueue(export.task(), small.task(), several.task(n=0), several.task(n=1))
    async with bench.working(slots=4):
        done = await bench.finished(*ids)

    pointer = done[0].result
    assert pointer.items() > {"rolecall": "result stored elsewhere", "store": (tmp_path / "results").as_uri()}.items()
    assert [await large.read(task.result) for task in done] == [[LARGE], {"n": 1}, 0, LARGE]
    assert len(list((tmp_path / "results").iterdir())) == 2


async def test_large_result_is_checked_against_its_declared_type(bench: Bench, tmp_path: Path) -> None:
    bench.app.use(LargeResults(tmp_path, over=10))

    @bench.app.task(max_attempts=1)
    async def export() -> list[int]:
        return [LARGE]  # type: ignore[list-item]  # it breaks its promise

    [task_id] = bench.enqueue(export.task())
    async with bench.working():
        [task] = await bench.finished(task_id)

    assert task.state == "failed"
    assert "Expected `int`, got `str`" in (task.error or "")


async def test_attempt_fails_if_the_store_is_unavailable(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    bench.app.use(LargeResults(tmp_path / "file", over=10))

    @bench.app.task(max_attempts=1)
    async def export() -> str:
        return LARGE

    [task_id] = bench.enqueue(export.task())
    async with bench.working():
        [task] = await bench.finished(task_id)

    assert task.state == "failed"
    assert "ResultMissing: the object" in (task.error or "")


async def test_non_result_return_values_pass_through(tmp_path: Path) -> None:
    snooze = Snooze(1)

    async def call_next() -> Snooze:
        return snooze

    assert await LargeResults(tmp_path, over=0)(None, call_next) is snooze  # type: ignore[arg-type]  # it asks for nothing


@pytest.mark.parametrize(
    "other",
    [
        {"store": "s3://elsewhere"},
        {"path": "../secret"},
        {"path": "/etc/passwd"},
        {"path": "gone.json"},
        {"sha256": "0" * 64},
    ],
)
def test_changed_pointer_or_object_is_rejected(tmp_path: Path, other: dict[str, Any]) -> None:
    large = LargeResults(FolderStore(tmp_path))
    FolderStore(tmp_path).put("7-1.json", b"[]")
    pointer = {
        "rolecall": "result stored elsewhere",
        "store": tmp_path.as_uri(),
        "path": "7-1.json",
        "bytes": 2,
        "sha256": "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945",
    }
    assert large.read_now(pointer) == []

    with pytest.raises(ResultMissing):
        large.read_now({**pointer, **other})


def test_bucket_url_without_a_bucket_name_is_rejected() -> None:
    with pytest.raises(ConfigError, match="names no bucket"):
        open_store("s3:///results")


def test_stored_objects_are_readable_only_by_their_owner(tmp_path: Path) -> None:
    folder = tmp_path / "large"

    FolderStore(folder).put("report", b"secret")

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "report").stat().st_mode) == 0o600
