"""The report's medians, ratios and verdicts."""

from __future__ import annotations

from bench.ceilings import MOVE, STEP, UNNEST
from bench.plot import bars
from bench.record import Record
from bench.report import Summary, markdown


def rate(peer: str, work: str, value: float) -> Record:
    return Record(peer=peer, work=work, rate=value, worker_us=10.0, server_us=20.0)


def test_the_median_of_the_repeats_counts() -> None:
    summary = Summary(rate("rolecall", "W2", value) for value in (9_000.0, 1_000.0, 2_000.0))

    assert summary.cell("rolecall", "W2") == "2,000  (1,000-9,000)\n10 + 20 us"


def test_a_target_is_met_at_its_very_bound() -> None:
    summary = Summary([rate("rolecall", "W1", 500.0), rate("ceiling", UNNEST, 1_000.0)])

    assert "0.50 x INSERT .. unnest, at least 0.5: met" in summary.verdicts("W1")


def test_a_target_that_is_not_reached_is_said_to_be_missed() -> None:
    summary = Summary([rate("rolecall", "W2", 1_400.0), rate("pgqueuer", "W2", 1_000.0)])

    assert "1.40 x PGQueuer, at least 1.5: MISSED" in summary.verdicts("W2")


def test_a_latency_may_be_at_most_the_other_one() -> None:
    waits = [
        Record(peer=peer, work="W4", p50=p50, p95=3.0, p99=4.0) for peer, p50 in (("rolecall", 2.0), ("pgqueuer", 1.0))
    ]

    assert "2.00 x PGQueuer's p50, at most 1: MISSED" in Summary(waits).verdicts("W4")


def test_a_failed_measure_takes_part_in_no_median() -> None:
    failed = Record(peer="rolecall", work="W2", problem="nothing ran")

    assert Summary([failed, rate("rolecall", "W2", 5.0)]).median("rolecall", "W2", "rate") == 5.0


def test_what_was_not_measured_has_no_verdict() -> None:
    assert Summary([rate("rolecall", "W2", 5.0)]).verdicts("W2") == ""


def test_the_table_and_the_drawing_name_every_peer() -> None:
    summary = Summary(
        [rate("rolecall", "W2", 2.0), rate("pgqueuer", "W2", 1.0), rate("ceiling", MOVE.format(STEP), 4.0)]
    )

    assert all(name in markdown(summary) and name in bars(summary) for name in ("rolecall", "pgqueuer", "ceiling"))
