"""The report's medians, ratios and verdicts."""

from __future__ import annotations

from dataclasses import replace
from xml.etree.ElementTree import fromstring

from bench.bars import verdicts
from bench.ceilings import MOVE, STEP
from bench.curves import charts, curves
from bench.plot import bars
from bench.record import Record
from bench.report import Summary, markdown


def rate(peer: str, work: str, value: float) -> Record:
    return Record(peer=peer, work=work, rate=value, worker_us=10.0, server_us=20.0)


def test_median_of_the_repeats_is_used() -> None:
    summary = Summary(rate("rolecall", "W2", value) for value in (9_000.0, 1_000.0, 2_000.0))

    assert summary.cell("rolecall", "W2") == "2,000  (1,000-9,000)\n10 + 20 us"


def test_threshold_is_met_at_its_exact_bound() -> None:
    [verdict] = verdicts([rate("rolecall", "W1", 1_100.0), rate("awa", "W1", 1_000.0)])

    assert (verdict.reached, verdict.met) == ("1.10 x", True)


def test_unreached_threshold_is_missed() -> None:
    [drain, *_] = verdicts([rate("rolecall", "W2", 1_400.0), rate("pg-boss", "W2", 1_000.0)])

    assert (drain.reached, drain.asked, drain.met) == ("1.40 x", "at least 1.6", False)


def test_latency_threshold_is_an_upper_bound() -> None:
    p50s = (("rolecall", 2.0), ("graphile-worker", 1.0))
    waits = [Record(peer=peer, work="W4", p50=p50, p95=3.0, p99=4.0) for peer, p50 in p50s]

    assert [(verdict.reached, verdict.met) for verdict in verdicts(waits)] == [("2.00 x", False), ("1.00 x", True)]


def test_ratio_is_reported_with_its_range_over_the_repeats() -> None:
    ours, theirs = (1_000.0, 3_000.0, 2_000.0), (1_000.0, 1_500.0, 500.0)

    [verdict] = verdicts(
        [rate("rolecall", "W3", value) for value in ours] + [rate("pg-boss", "W3", value) for value in theirs]
    )

    assert verdict.reached == "2.00 x (1.00-4.00)"


def test_wal_of_a_task_is_that_of_its_enqueue_and_drain() -> None:
    written = [replace(rate("rolecall", work, 1.0), wal=wal) for work, wal in (("W1", 350.0), ("W2", 650.0))]

    assert [verdict.reached for verdict in verdicts(written) if verdict.bar.figure == "wal"] == ["1,000 bytes"]


def test_failed_measurement_is_excluded_from_the_median() -> None:
    failed = Record(peer="rolecall", work="W2", problem="nothing ran")

    assert Summary([failed, rate("rolecall", "W2", 5.0)]).median("rolecall", "W2", "rate") == 5.0


def test_missing_measurement_has_no_verdict() -> None:
    assert verdicts([rate("rolecall", "W5", 5.0)]) == []


def test_table_and_drawing_name_every_peer() -> None:
    summary = Summary(
        [rate("rolecall", "W2", 2.0), rate("pgqueuer", "W2", 1.0), rate("ceiling", MOVE.format(STEP), 4.0)]
    )

    assert all(name in markdown(summary) and name in bars(summary) for name in ("rolecall", "pgqueuer"))


def test_curves_show_waits_held_snapshots_and_slots() -> None:
    waits = Record(peer="pgqueuer", work="W4", p50=1.0, p95=1.0, p99=1.0, detail={"waits": [0.5, 1.0]})
    held = replace(rate("awa", "W5", 1.0), detail={"preloaded": 20, "rates": [[0, 2.0]]})
    slots = [rate("rolecall", "W2", 2.0), rate("rolecall-slots-100", "W2", 3.0)]

    shown = charts(Summary([waits, held, *slots]))

    assert [chart.curves for chart in shown] == [
        {"pgqueuer": [(0.5, 0.5)]},
        {"awa": [(0, 2.0), (20, 1.0)]},
        {"rolecall": [(10, 2.0), (100, 3.0)]},
    ]


def test_drawing_of_curves_is_well_formed() -> None:
    summary = Summary([rate("rolecall", "W2", 2.0), rate("rolecall-slots-100", "W2", 3.0)])

    assert "W2: tasks/s by slots" in "".join(fromstring(curves(summary)).itertext())  # noqa: S314 - our own
