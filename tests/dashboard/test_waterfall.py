"""The waterfall on the page of a task: one bar for each relative over time."""

from __future__ import annotations

import httpx2

from rolecall.testing import Clock
from tests.dashboard.reading import Element, shown
from tests.sql.engine import START, Engine
from tests.sql.families import spread

ADD = {"role": "sums", "handler": "add"}
STUMBLE = {"role": "sums", "handler": "stumble"}


async def waterfall(http: httpx2.AsyncClient, task_id: int) -> Element:
    return (await shown(http, f"/tasks/{task_id}")).one("section", **{"aria-labelledby": "waterfall"})


async def test_siblings_of_one_state_share_a_row(pool: Engine, http: httpx2.AsyncClient) -> None:
    top = pool.enqueue("sums", handler="add")
    children = spread(pool, pool.claim_one(), *[STUMBLE] * 2_000)
    pool.fail_task(children[7], "the shop is closed")

    drawn = await waterfall(http, top)

    texts = [row.all("a")[0].text for row in drawn.all("li")]
    assert texts == [f"add {top}", "stumble × 1,999", "stumble × 1"]
    assert len(drawn.all()) < 300
    assert drawn.all("a", href=f"/tasks/{children[7]}")


async def test_child_that_ends_last_is_on_the_critical_path(
    pool: Engine, http: httpx2.AsyncClient, clock: Clock
) -> None:
    clock.set(START)
    top = pool.enqueue("sums", handler="add")
    early, late = spread(pool, pool.claim_one(), ADD, STUMBLE)
    for child in (early, late):
        clock.advance(seconds=5)
        pool.complete_task(child)

    drawn = await waterfall(http, top)

    assert [row.all("a")[0].text for row in drawn.all("li", class_="critical")] == [f"add {top}", f"stumble {late}"]


async def test_critical_path_continues_through_a_shared_row(
    pool: Engine, http: httpx2.AsyncClient, clock: Clock
) -> None:
    """The last child needs a folded one, and that needs the first child."""
    clock.set(START)
    top = pool.enqueue("sums", handler="add")
    folded = [{**STUMBLE, "needs": [{"item": 0}]}] * 20
    children = spread(pool, pool.claim_one(), ADD, ADD, *folded, {**ADD, "needs": [{"item": 21}]})
    for child in children:
        clock.advance(seconds=5)
        pool.complete_task(child)

    drawn = await waterfall(http, top)

    texts = [row.all("a")[0].text for row in drawn.all("li", class_="critical")]
    assert texts == [f"add {top}", f"add {children[0]}", "stumble × 20", f"add {children[-1]}"]


async def test_task_that_waits_for_its_next_attempt_keeps_the_segment_of_its_run(
    pool: Engine, http: httpx2.AsyncClient, clock: Clock
) -> None:
    clock.set(START)
    top = pool.enqueue("sums", handler="add")
    [child] = spread(pool, pool.claim_one(), {**ADD, "max_attempts": 2})
    claim = pool.claim_one()
    clock.advance(seconds=3)
    pool.fail(claim, "boom", after=60)

    drawn = await waterfall(http, top)

    [row] = [row for row in drawn.all("li") if row.all("a", href=f"/tasks/{child}")]
    assert row.one("svg")["aria-label"].startswith("retrying, waited 0 s, ran 3 s")


async def test_each_run_of_a_task_is_a_segment(pool: Engine, http: httpx2.AsyncClient, clock: Clock) -> None:
    clock.set(START)
    top = pool.enqueue("sums", handler="add")
    [child] = spread(pool, pool.claim_one(), {**ADD, "max_attempts": 2})
    for _ in range(2):
        clock.advance(seconds=10)
        claim = pool.claim_one()
        clock.advance(seconds=3)
        pool.fail(claim, "boom", after=1)

    drawn = await waterfall(http, top)

    [row] = [row for row in drawn.all("li") if row.all("a", href=f"/tasks/{child}")]
    assert row.one("path", class_="running")["d"].count("M") == 2
    assert "ran 6 s in 2 runs" in row.one("svg")["aria-label"]
