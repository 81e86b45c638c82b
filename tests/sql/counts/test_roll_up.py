"""Rolled-up counts of finished tasks equal a full count, whatever is deleted and whenever it is committed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import psycopg
import pytest

from rolecall.testing import Clock
from tests.sql.costs import FEW_BUFFERS, buffers
from tests.sql.engine import Engine

ROLL_UP = "select rolecall.roll_up_counts('0 s')"
FULL_COUNT = "select role, state::text, count(*) from rolecall.all_tasks group by 1, 2"


def assert_exact(engine: Engine) -> None:
    counted = {(role, state): number for role, state, number in engine.rows("select * from rolecall.counts()")}
    assert counted == {(role, state): number for role, state, number in engine.rows(FULL_COUNT)}


def roll_up(engine: Engine) -> None:
    while engine.value(ROLL_UP):
        pass


def rolled_up(engine: Engine) -> int:
    return int(engine.value("select coalesce(sum(number), 0) from rolecall.finished_counts"))


def finish(engine: Engine, number: int, **words: object) -> list[int]:
    """Complete this many new tasks."""
    engine.enqueue_many([{"role": "work", **words}] * number)
    claims = engine.claim(number)
    engine.finish(
        claims[0].worker_id, *({"id": claim.id, "fence": claim.fence, "outcome": "completed"} for claim in claims)
    )
    return [claim.id for claim in claims]


@pytest.fixture
def other(live_engine: Engine) -> Iterator[Engine]:
    """A session with an open transaction."""
    with psycopg.connect(live_engine.database) as connection:
        yield Engine(connection, Clock(live_engine.database), live_engine.database)


def test_roll_up_counts_tasks_finished_before_it(engine: Engine) -> None:
    """Counts never scan the finished table."""
    finish(engine, 3)
    engine.clock.advance(seconds=1)
    roll_up(engine)

    assert rolled_up(engine) == 3
    assert_exact(engine)


@pytest.mark.parametrize("seed", range(3))
def test_counts_equal_a_full_count_after_random_calls(engine: Engine, seed: int) -> None:
    pick = random.Random(seed)
    engine.rows("select rolecall.make_partitions(60)")

    def cancelled() -> None:
        engine.cancel(*(engine.enqueue(role=pick.choice(("work", "other"))) for _ in range(3)))

    def deleted() -> None:
        engine.delete_chains(*(task.id for task in pick.sample(engine.tasks(), min(4, len(engine.tasks())))))

    engine.declare({"name": "other", "keep_completed": 86_400.0 * 2, "keep_failed": 86_400.0})
    done = Counter[str]()
    for _ in range(60):
        act = pick.choice(
            (
                lambda: finish(engine, 5),
                cancelled,
                lambda: engine.retry(*(task.id for task in engine.tasks() if task.state == "cancelled")),
                deleted,
                lambda: roll_up(engine),
                lambda: engine.clock.advance(hours=pick.choice((0.1, 7, 40))),
                engine.prune,
            )
        )
        act()
        assert_exact(engine)
        done.update(["rolled up"] if rolled_up(engine) else [])

    assert done["rolled up"] > 10


def test_dropping_a_day_subtracts_its_counts_except_for_kept_tasks(engine: Engine) -> None:
    engine.rows("select rolecall.make_partitions(0)")
    finish(engine, 4)
    child = finish(engine, 1)[0]
    engine.clock.advance(days=1)
    engine.rows("select rolecall.make_partitions(50)")
    finish(engine, 2)
    engine.clock.advance(seconds=1)
    roll_up(engine)
    assert rolled_up(engine) == 7

    day = engine.value("select min(partition::text) from rolecall.partitions_of('rolecall.finished_tasks')")
    engine.rows("select rolecall.drop_partition(%s, %s)", day, [child])

    assert rolled_up(engine) == 3
    assert_exact(engine)


def test_tasks_of_a_transaction_that_commits_late_are_counted(live_engine: Engine, other: Engine) -> None:
    """The watermark waits for transactions that can still commit."""
    live_engine.enqueue()
    claim = live_engine.claim_one()
    other.complete(claim)
    finish(live_engine, 2)
    roll_up(live_engine)
    assert_exact(live_engine)
    assert rolled_up(live_engine) == 0

    other.connection.commit()
    roll_up(live_engine)

    assert rolled_up(live_engine) == 3
    assert_exact(live_engine)


def test_read_only_transaction_does_not_delay_the_roll_up(live_engine: Engine, other: Engine) -> None:
    other.rows("select count(*) from rolecall.tasks")
    finish(live_engine, 2)
    roll_up(live_engine)

    assert rolled_up(live_engine) == 2


def test_rows_deleted_during_a_roll_up_are_not_counted(live_engine: Engine, other: Engine) -> None:
    """The roll-up skips rows that another session is deleting, and continues after its commit."""
    ids = finish(live_engine, 3)
    other.delete_chains(ids[0])
    roll_up(live_engine)
    assert rolled_up(live_engine) == 0

    other.connection.commit()
    roll_up(live_engine)
    assert rolled_up(live_engine) == 2
    other.delete_chains(ids[1])
    assert_exact(live_engine)
    other.connection.commit()

    assert_exact(live_engine)


def test_counting_reads_few_pages_of_finished_tasks(engine: Engine) -> None:
    """Counts never scan the finished table."""
    engine.rows("select rolecall.make_partitions()")
    engine.rows(
        "insert into rolecall.finished_tasks (id, chain_id, created_at, scheduled_for, finished_at, line_id, chain_index, fence,"
        " attempt, state, payload) select n, n, now, now, now, line, 0, 1, 1, 'completed', '{}'"
        " from generate_series(10000, 60000) as n, rolecall.clock() as now,"
        " rolecall.find_or_add_line('work', 'work', 0, false, '{}') as line"
    )
    engine.clock.advance(seconds=1)
    roll_up(engine)
    engine.rows("vacuum rolecall.finished_tasks")  # as autovacuum does, page by page

    assert buffers(engine, "select * from rolecall.counts()") < FEW_BUFFERS
    assert engine.rows("select * from rolecall.counts()") == [("work", "completed", 50_001)]
