"""The time range of a poll depends on the transactions that the previous polls could see."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from rolecall.model.operator.live import Horizon
from rolecall.service.live.looks import SLACK, Reach, Start

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def horizon(second: float, next_xid: int, *under_way: int) -> Horizon:
    """Return a horizon at which the numbers of ids and transactions are equal."""
    return Horizon(BEGIN + timedelta(seconds=second), next_xid, frozenset(under_way), next_xid)


def seconds(reach: Reach) -> float:
    return (reach.start.since + SLACK - BEGIN).total_seconds()


def test_query_without_open_transactions_covers_the_last_two_periods() -> None:
    reach = Reach(horizon(0, 10))

    assert [reach.add_horizon(horizon(second, 10 + second)) for second in range(1, 5)] == [False] * 4
    assert (seconds(reach), reach.start.after_id) == (3, 13)


def test_query_covers_the_time_since_the_oldest_open_transaction_started() -> None:
    reach = Reach(horizon(0, 10))
    for second in (1, 2, 3, 4):
        reach.add_horizon(horizon(second, 10 + second, 12))

    assert seconds(reach) == 1


def test_transaction_older_than_the_reach_causes_a_gap_when_it_commits() -> None:
    reach = Reach(horizon(0, 10))
    result = [reach.add_horizon(horizon(second, 20 + second, 11)) for second in range(1, 9)]

    assert (result, reach.is_complete) == ([False] * 8, False)
    assert (reach.add_horizon(horizon(9, 30)), reach.is_complete) == (True, True)
    assert reach.add_horizon(horizon(10, 31)) is False


def test_each_of_several_older_transactions_causes_a_gap_when_it_ends() -> None:
    reach = Reach(horizon(0, 10))
    for second in range(1, 9):
        reach.add_horizon(horizon(second, 20 + second, 11, 12))

    assert reach.add_horizon(horizon(9, 30, 11)) is True
    assert reach.add_horizon(horizon(10, 31, 11)) is False
    assert reach.add_horizon(horizon(11, 32)) is True


def test_transaction_open_at_the_first_query_causes_a_gap_when_it_commits() -> None:
    reach = Reach(horizon(0, 10, 9))

    assert not reach.is_complete
    assert reach.add_horizon(horizon(1, 11)) is True


def test_transaction_of_another_database_causes_no_gap() -> None:
    reach = Reach(replace(horizon(0, 10), elsewhere=frozenset({9})))

    assert reach.add_horizon(horizon(8, 30, 9)) is False
    assert reach.is_complete
    assert reach.add_horizon(horizon(16, 31)) is False


def test_server_with_a_lower_transaction_counter_resets_the_reach() -> None:
    reach = Reach(horizon(0, 1000))

    assert reach.add_horizon(horizon(1, 10)) is True
    assert seconds(reach) == 1


def test_start_round_trips_through_its_text() -> None:
    start = Start(BEGIN + timedelta(microseconds=1), 17)

    assert Start.read(start.text) == start
