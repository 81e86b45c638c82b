"""Draws a session's curves: waits of an idle worker, the rate as dead rows accumulate, the rate by slots."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.bars import OURS
from bench.plot import BOLD, COLOURS, text
from bench.report import Summary

LEFT, TOP, ACROSS, DOWN, WIDTH, BELOW = 70, 30, 480, 200, 760, 60
TICKS = 4
# Above the 99th percentile, the curve shows single tasks.
SHOWN = 0.99
DEFAULT_SLOTS = 10

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Curves by name, and the labels of the axes."""

    title: str
    across: str
    curves: Mapping[str, Points]


def charts(summary: Summary) -> list[Chart]:
    """Return the charts for which there are measurements."""
    drawn = [
        Chart(title="W4: share of tasks that have begun", across="ms after the enqueue", curves=_waits(summary)),
        Chart(title="W5: tasks/s under a held snapshot", across="tasks processed under it", curves=_held(summary)),
        Chart(title="W2: tasks/s by slots", across="slots", curves=_slots(summary)),
    ]
    return [chart for chart in drawn if chart.curves]


def curves(summary: Summary) -> str:
    """Return all charts as one SVG drawing."""
    drawn = charts(summary)
    height = len(drawn) * (TOP + DOWN + BELOW)
    body = "\n".join(
        line for number, chart in enumerate(drawn) for line in _chart(chart, number * (TOP + DOWN + BELOW))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )


def _waits(summary: Summary) -> dict[str, Points]:
    waits: dict[str, list[float]] = defaultdict(list)
    for record in summary.records:
        waits[record.peer] += record.detail.get("waits", [])
    return {peer: _shares(sorted(each)) for peer, each in waits.items() if each}


def _shares(ranked: Sequence[float]) -> Points:
    kept = ranked[: max(1, int(SHOWN * len(ranked)))]
    return [(max(0.0, wait), (number + 1) / len(ranked)) for number, wait in enumerate(kept)]


def _held(summary: Summary) -> dict[str, Points]:
    """Return the rates of the last repeat: of the drains that produced the dead rows, and of the final one."""
    held = {record.peer: record for record in summary.records if record.work == "W5"}
    return {
        peer: [*map(tuple, record.detail["rates"]), (record.detail["preloaded"], record.rate or 0.0)]
        for peer, record in held.items()
        if "rates" in record.detail
    }


def _slots(summary: Summary) -> dict[str, Points]:
    named = {peer: peer.removeprefix(f"{OURS}-slots-") for peer in summary.peers}
    slots = {OURS: DEFAULT_SLOTS} | {peer: int(number) for peer, number in named.items() if number.isdecimal()}
    rates = [(slots[peer], rate) for peer in slots if (rate := summary.median(peer, "W2", "rate"))]
    return {OURS: sorted(rates)} if len(rates) > 1 else {}


def _chart(chart: Chart, top: int) -> Iterator[str]:
    floor = top + TOP + DOWN
    most = [max(value[axis] for points in chart.curves.values() for value in points) or 1.0 for axis in (0, 1)]
    yield text(LEFT, top + TOP - 12, chart.title, BOLD)
    yield f'<path d="M{LEFT} {top + TOP}V{floor}H{LEFT + ACROSS}" stroke="black" fill="none"/>'
    for tick in range(1, TICKS + 1):
        yield text(LEFT + ACROSS * tick / TICKS, floor + 16, f"{most[0] * tick / TICKS:,.4g}", "text-anchor='middle'")
        yield text(LEFT - 6, floor - DOWN * tick / TICKS + 4, f"{most[1] * tick / TICKS:,.3g}", "text-anchor='end'")
    yield text(LEFT + ACROSS / 2, floor + 34, chart.across, "text-anchor='middle'")
    for number, (name, points) in enumerate(chart.curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        path = "L".join(f"{LEFT + ACROSS * x / most[0]:.1f} {floor - DOWN * y / most[1]:.1f}" for x, y in points)
        yield f'<path d="M{path}" stroke="{colour}" stroke-width="2" fill="none"/>'
        yield text(LEFT + ACROSS + 16, top + TOP + 16 * number, name, f"fill='{colour}'")
