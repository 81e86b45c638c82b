"""Each role has its own slots and never claims without a free one."""

from __future__ import annotations

import asyncio

import pytest

from rolecall import ConfigError, WorkerOptions
from tests.worker.bench import Bench, until


async def test_long_role_does_not_starve_a_short_one_or_exceed_its_slots(bench: Bench) -> None:
    gate, most, running = asyncio.Event(), 0, 0

    @bench.app.task(role="long")
    async def wait() -> None:
        nonlocal most, running
        running += 1
        most = max(most, running)
        await gate.wait()
        running -= 1

    @bench.app.task(role="short")
    async def pass_by(n: int) -> None: ...

    waiting = bench.enqueue(*[wait.task()] * 6)
    short = bench.enqueue(*(pass_by.task(n=n) for n in range(20)))

    async with bench.working(slots={"long": 2, "short": 1}):
        await bench.finished(*short)
        await until(lambda: running == 2)
        states = [bench.task(task_id).state for task_id in waiting]
        assert sorted(states) == ["pending"] * 4 + ["running"] * 2
        gate.set()
        await bench.finished(*waiting)

    assert most == 2


async def test_each_role_has_its_own_registry_entry(bench: Bench) -> None:
    @bench.app.task(role="long")
    async def wait() -> None: ...

    @bench.app.task(role="other")
    async def never() -> None: ...

    [other] = bench.enqueue(never.task())
    async with bench.working(slots={"long": 2, "short": 1}, name="wilma"):
        await bench.finished(*bench.enqueue(wait.task()))
        found = bench.connection.execute("select name, roles, slots from rolecall.all_workers order by name").fetchall()

    assert found == [("wilma/long", ["long"], 2), ("wilma/short", ["short"], 1)]
    assert bench.task(other).state == "pending"
    assert bench.connection.execute("select count(*) from rolecall.all_workers where active").fetchone() == (0,)


@pytest.mark.parametrize(
    ("slots", "roles", "problem"),
    [
        ({"long": 0}, (), "the role long must have at least 1 slot, got 0"),
        ({}, (), "between 1 and 1000"),
        ({"long": 900, "short": 101}, (), "between 1 and 1000"),
        ({"long": 1}, ("long", "short"), "no slots are set for the role short"),
        ({"long": 1, "short": 1}, ("long",), "does not serve the role short"),
    ],
)
def test_invalid_slots_are_rejected(slots: dict[str, int], roles: tuple[str, ...], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        WorkerOptions(slots=slots, roles=roles)
