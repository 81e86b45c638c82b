"""kill -9 of one or all of the demo's processes: nothing is lost, duplicated or left running."""

from __future__ import annotations

import socket
from functools import partial

import pytest

from .conftest import DemoFolder, eventually

# With one slot for each worker, a cycle is far from its end when its first payload exists.
STORES = 4
CYCLE = ("--once", "--json", "--no-api", "--slots", "1", "--stores", str(STORES), "--platforms", "dutchie")
PAYLOADS = "select count(*) from storecrawl.payloads"
FIRST_TASK = "select count(*) from rolecall.all_tasks"
DOUBLED_REFRESHES = """
select count(*) from storecrawl.payloads as payload where 1 <> (
    select count(*) from rolecall.all_tasks
    where handler = 'product_refresh' and (all_tasks.payload ->> 'payload_id')::bigint = payload.id
)
"""
DOUBLED_PAYLOADS = "select count(*) - count(distinct task_id) from storecrawl.payloads"


def expect_whole(demo: DemoFolder, *, code: int, summary: dict[str, object]) -> None:
    assert code == 0
    assert (summary["stores"], summary["payloads"]) == (STORES, STORES)
    assert summary["snapshots"] == summary["products"]
    assert demo.value(f"select array[({DOUBLED_REFRESHES}), ({DOUBLED_PAYLOADS})]") == [0, 0]
    demo.expect_nothing_left()


@pytest.mark.parametrize("kinds", [("worker", "upstream"), ("postgres",)], ids=["worker and upstream", "postgres"])
def test_cycle_survives_the_kill_of_any_process(demo: DemoFolder, kinds: tuple[str, ...]) -> None:
    demo.start(*CYCLE)
    eventually(lambda: demo.sees(PAYLOADS))

    for kind in kinds:
        min(demo.processes(kind), key=lambda process: process.create_time()).kill()

    outcome = demo.end()
    expect_whole(demo, code=outcome.code, summary=outcome.summary)


def test_killed_demo_leaves_nothing_running_and_the_next_continues(demo: DemoFolder) -> None:
    """The workers and the upstream end with it, and Postgres with the last worker.

    The first demo is killed during the start of its workers, and leaves its database to the second.
    """
    process = demo.start(*CYCLE)
    eventually(lambda: demo.sees(FIRST_TASK))
    process.kill()
    process.communicate()
    eventually(lambda: not demo.processes("worker", "upstream"))

    process = demo.start(*CYCLE)
    eventually(lambda: demo.sees(PAYLOADS))
    process.kill()
    process.communicate()
    eventually(lambda: not demo.processes())

    outcome = demo.run(*CYCLE)
    expect_whole(demo, code=outcome.code, summary=outcome.summary)


def test_next_demo_continues_after_all_processes_were_killed(demo: DemoFolder) -> None:
    """An enqueued task survives the death of all processes, including the database's."""
    for moment in (FIRST_TASK, PAYLOADS):
        demo.start(*CYCLE)
        eventually(partial(demo.sees, moment))
        demo.clear()

    outcome = demo.run(*CYCLE)
    expect_whole(demo, code=outcome.code, summary=outcome.summary)


def test_workers_follow_a_database_that_restarts_on_another_port(demo: DemoFolder) -> None:
    demo.start(*CYCLE)
    eventually(lambda: demo.sees(PAYLOADS))
    # Each of them starts a missing database.
    starters = demo.processes("main", "worker")
    for starter in starters:
        starter.suspend()
    port = int((demo.data / "postgres" / "port").read_text())
    demo.kill("postgres")
    eventually(lambda: not demo.processes("postgres"))

    with socket.socket() as squatter:
        squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        squatter.bind(("127.0.0.1", port))
        squatter.listen()
        for starter in starters:
            starter.resume()
        outcome = demo.end()

    assert int((demo.data / "postgres" / "port").read_text()) != port
    expect_whole(demo, code=outcome.code, summary=outcome.summary)
