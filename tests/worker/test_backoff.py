"""A worker that uses too much memory or CPU pauses its claims, reports the reason, and never stops completely."""

from __future__ import annotations

import threading
from pathlib import Path

import psutil
import pytest

from rolecall.worker import resources
from rolecall.worker.resources import Limit, Pressure, Resources, Usage
from tests.worker.bench import Bench, until


def usage(memory: float = 0.1, cpu: float | None = 0.1) -> Usage:
    return Usage(cpu=cpu, memory=memory, memory_bytes=1)


def test_back_off_lasts_until_its_duration_after_the_last_excess() -> None:
    pressure = Pressure(memory=0.85, cpu=0.9, duration=10)
    result = []
    for second, memory in enumerate([0.85, 0.86, 0.9, *[0.5] * 11]):
        pressure.note(usage(memory), second)
        result.append(pressure.reason)

    assert result[0] is None
    assert result[1] == "memory at 86%, over the threshold of 85%"
    assert result[2:12] == ["memory at 90%, over the threshold of 85%"] * 10
    assert result[12:] == [None, None]


def test_unknown_or_unlimited_usage_exceeds_no_threshold() -> None:
    pressure = Pressure(memory=None, cpu=0.9, duration=10)

    pressure.note(usage(memory=1.0, cpu=None), 0)

    assert pressure.reason is None


async def test_worker_under_pressure_runs_only_one_task_at_a_time(bench: Bench) -> None:
    """The reason is in the worker registry. A worker without a running task can claim one."""
    enough = threading.Event()

    @bench.app.task
    def crunch(n: int) -> int:
        while n == 0 and not enough.is_set():
            sum(range(10_000))
        return n

    (first,) = bench.enqueue(crunch.task(n=0))
    async with bench.working(slots=4, cpu_backoff=0.01, backoff_duration=60):
        await until(lambda: "cpu at" in (bench.ask("select backing_off from rolecall.workers") or ""))
        later = bench.enqueue(*(crunch.task(n=n) for n in (1, 2, 3)))
        await until(lambda: not bench.ask("select idle from rolecall.all_workers"))
        assert [bench.task(task_id).state for task_id in (first, *later)] == ["running", *["pending"] * 3]

        enough.set()

        await bench.finished(first, *later)
        assert bench.ask("select state from rolecall.all_workers") == "backing off"


def test_usage_of_a_process_tree_is_relative_to_the_machine() -> None:
    used = Resources().read()

    assert used.cpu is None
    assert used.memory_bytes >= psutil.Process().memory_info().rss / 2
    assert used.memory == pytest.approx(used.memory_bytes / psutil.virtual_memory().total)


@pytest.fixture
def pod(tmp_path: Path) -> Path:
    """The files of a container's control group, with a limit on the group above it too."""
    group = tmp_path / "slice" / "pod"
    group.mkdir(parents=True)
    (tmp_path / "own").write_text("1:cpu:/elsewhere\n0::/slice/pod\n")
    for folder, memory, cpu in ((group, "max", "50000 100000"), (group.parent, "1000", "max 100000")):
        (folder / "memory.max").write_text(memory)
        (folder / "memory.current").write_text("900\n")
        (folder / "memory.stat").write_text("anon 100\ninactive_file 300\n")
        (folder / "cpu.max").write_text(cpu)
        (folder / "cpu.stat").write_text("usage_usec 2000000\n")
    return tmp_path


def test_container_usage_is_relative_to_its_tightest_limits(pod: Path) -> None:
    memory, cpu = resources.memory_limit(pod, pod / "own"), resources.cpu_limit(pod, pod / "own")

    assert memory == Limit(pod / "slice", 1000)
    assert cpu == Limit(pod / "slice" / "pod", 0.5)
    assert Resources(memory=memory, cpu=cpu).read().memory == 0.6
    assert resources.cpu_seconds(cpu.group) == 2.0


def test_container_without_control_groups_has_no_limit(tmp_path: Path) -> None:
    assert resources.memory_limit(tmp_path, tmp_path / "none") is None
    assert resources.cpu_limit(tmp_path, tmp_path / "none") is None
