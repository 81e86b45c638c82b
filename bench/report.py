"""Turns a session's measures into medians, ratios and verdicts on the targets, in one table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from rich.console import Console
from rich.table import Table

from bench import ceilings
from bench.record import Record

OURS, RIVAL, CEILING = "rolecall", "pgqueuer", "ceiling"
PRICE = ("worker_us", "server_us")
STEP = ceilings.STEP
TITLES = {
    "W1": "W1 bulk enqueue, tasks/s",
    "W1s": "W1s single enqueue, tasks/s",
    "W2": "W2 drain, tasks/s",
    "W3": "W3 drain by 2 processes, tasks/s",
    "W4": "W4 idle latency, ms",
    "W5": "W5 drain, held snapshot, tasks/s",
    "W6": "W6 drain of parents' children, tasks/s",
}
CEILING_OF = {
    "W1": ceilings.UNNEST,
    "W1s": ceilings.SINGLE,
    "W2": ceilings.MOVE.format(STEP),
    "W3": ceilings.MOVE_TWICE.format(STEP),
    "W5": ceilings.MOVE_HELD.format(STEP),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a figure of ours is to reach, as a multiple of another figure."""

    work: str
    against: tuple[str, str]
    bound: Literal["at least", "at most"]
    times: float
    of: str
    figure: Literal["rate", "p50"] = "rate"


TARGETS = (
    Target(work="W1", against=(CEILING, ceilings.UNNEST), bound="at least", times=0.5, of="INSERT .. unnest"),
    Target(
        work="W2",
        against=(CEILING, ceilings.MOVE.format(STEP)),
        bound="at least",
        times=0.5,
        of="claim, delete + history",
    ),
    Target(work="W2", against=(RIVAL, "W2"), bound="at least", times=1.5, of="PGQueuer"),
    Target(work="W4", against=(RIVAL, "W4"), bound="at most", times=1.0, of="PGQueuer's p50", figure="p50"),
    Target(work="W5", against=(OURS, "W2"), bound="at least", times=0.9, of="our W2"),
    Target(work="W6", against=(OURS, "W2"), bound="at least", times=0.5, of="our W2"),
)


class Summary:
    """The medians of a session."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._records = [record for record in records if record.problem is None]
        names = dict.fromkeys(record.peer for record in self._records)
        self.peers = [name for name in names if name != CEILING]
        self.works = [work for work in TITLES if any(record.work == work for record in self._records)]

    def cell(self, peer: str, work: str) -> str:
        """The medians of a work in words: the rate with its extremes and its CPU, or the latencies."""
        rates = self._values(peer, work, "rate")
        if not rates:
            waits = [self.median(peer, work, name) for name in ("p50", "p95", "p99")]
            return " / ".join(f"{wait:.1f}" for wait in waits if wait is not None)
        spread = f"  ({min(rates):,.0f}-{max(rates):,.0f})" if len(rates) > 1 else ""
        prices = [self.median(peer, work, name) or 0.0 for name in PRICE]
        return f"{median(rates):,.0f}{spread}\n{prices[0]:.0f} + {prices[1]:.0f} us"

    def verdicts(self, work: str) -> str:
        """What the targets say about our figure, and else its share of the ceiling."""
        said = [said for target in TARGETS if target.work == work and (said := self._verdict(target))]
        ceiling = CEILING_OF.get(work)
        share = self._ratio((OURS, work), (CEILING, ceiling), "rate") if ceiling else None
        if share is not None and not any(target.against == (CEILING, ceiling) for target in TARGETS):
            said.append(f"{share:.2f} x its ceiling")
        return "\n".join(said)

    def median(self, peer: str, work: str, figure: str) -> float | None:
        """The median of one figure over the repeats."""
        values = self._values(peer, work, figure)
        return median(values) if values else None

    def _values(self, peer: str, work: str, figure: str) -> list[float]:
        values = [getattr(each, figure) for each in self._records if (each.peer, each.work) == (peer, work)]
        return [value for value in values if value is not None]

    def _verdict(self, target: Target) -> str | None:
        ratio = self._ratio((OURS, target.work), target.against, target.figure)
        if ratio is None:
            return None
        met = ratio >= target.times if target.bound == "at least" else ratio <= target.times
        said = f"{ratio:.2f} x {target.of}, {target.bound} {target.times:g}: {'met' if met else 'MISSED'}"
        cheaper = self._cheaper((OURS, target.work), target.against)
        return f"{said} (by CPU {cheaper:.2f})" if cheaper else said

    def _cheaper(self, ours: tuple[str, str], theirs: tuple[str, str]) -> float | None:
        """How many times our CPU a task costs there: a ratio that a noisy machine hardly moves."""
        here, there = (sum(self.median(*of, part) or 0.0 for part in PRICE) for of in (ours, theirs))
        return there / here if here and there else None

    def _ratio(self, ours: tuple[str, str], theirs: tuple[str, str | None], figure: str) -> float | None:
        upper = self.median(*ours, figure)
        lower = self.median(theirs[0], theirs[1] or "", figure)
        return upper / lower if upper and lower else None


def rows(summary: Summary) -> tuple[list[str], list[list[str]]]:
    """The table's heading and its rows, a work each."""
    head = ["median (least-most)\nworker + server CPU a task", *summary.peers, CEILING, "first target"]
    return head, [_row(summary, work) for work in summary.works]


def show(summary: Summary, console: Console) -> None:
    """Print the table."""
    head, body = rows(summary)
    table = Table(show_lines=True)
    for title in head:
        table.add_column(title)
    for row in body:
        table.add_row(*row)
    console.print(table)


def markdown(summary: Summary) -> str:
    """The table in Markdown."""
    head, body = rows(summary)
    lines = [_line(head), _line(["---"] * len(head)), *map(_line, body)]
    return "".join(f"{line}\n" for line in lines)


def _row(summary: Summary, work: str) -> list[str]:
    measured = [summary.cell(peer, work) for peer in summary.peers]
    ceiling = CEILING_OF.get(work)
    top = f"{cell}\n{ceiling}" if ceiling and (cell := summary.cell(CEILING, ceiling)) else ""
    return [TITLES[work], *measured, top, summary.verdicts(work)]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("\n", "<br>") for cell in cells) + " |"
