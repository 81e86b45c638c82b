"""Formats a session's measurements as a table of medians and a list of the bars, for the terminal and in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from rich.console import Console
from rich.table import Table

from bench import ceilings
from bench.bars import CEILING, Verdict, values, verdicts
from bench.record import Record

PRICE = ("worker_us", "server_us")
STEP = ceilings.STEP
TITLES = {
    "W1": "W1 bulk enqueue, tasks/s",
    "W1s": "W1s single enqueue, tasks/s",
    "W2": "W2 drain, tasks/s",
    "W3": "W3 drain by 2 processes, tasks/s",
    "W4": "W4 idle latency, p50 / p95 / p99 ms",
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
BARS_HEAD = ("bar", "reached", "asked", "")


class Summary:
    """The medians of a session, and the verdicts on the bars."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.records = [record for record in records if record.problem is None]
        names = dict.fromkeys(record.peer for record in self.records)
        self.peers = [name for name in names if name != CEILING]
        self.works = [work for work in TITLES if any(record.work == work for record in self.records)]
        self.verdicts: Sequence[Verdict] = verdicts(self.records)

    def cell(self, peer: str, work: str) -> str:
        """Format the medians of a work: the rate with its range and CPU, or the latencies."""
        rates = values(self.records, peer, work, "rate")
        if not rates:
            waits = [self.median(peer, work, name) for name in ("p50", "p95", "p99")]
            return " / ".join(f"{wait:.1f}" for wait in waits if wait is not None)
        spread = f"  ({min(rates):,.0f}-{max(rates):,.0f})" if len(rates) > 1 else ""
        prices = [self.median(peer, work, name) or 0.0 for name in PRICE]
        wal = self.median(peer, work, "wal")
        written = f", {wal:,.0f} B" if wal else ""
        return f"{median(rates):,.0f}{spread}\n{prices[0]:.0f} + {prices[1]:.0f} us{written}"

    def median(self, peer: str, work: str, figure: str) -> float | None:
        """Return the median of one figure over the repeats."""
        found = values(self.records, peer, work, figure)
        return median(found) if found else None


def show(summary: Summary, console: Console) -> None:
    """Print the table and the bars."""
    console.print(_drawn(*rows(summary), lines=True))
    if summary.verdicts:
        console.print(_drawn(BARS_HEAD, map(_judged, summary.verdicts), lines=False))


def markdown(summary: Summary) -> str:
    """Return the table and the bars in Markdown."""
    tables = [table(*rows(summary))]
    if summary.verdicts:
        tables.append(table(BARS_HEAD, map(_judged, summary.verdicts)))
    return "\n".join(tables)


def rows(summary: Summary) -> tuple[list[str], list[list[str]]]:
    """Return the table's heading and its rows: one row per peer, one column per work."""
    head = ["median (least-most)\nCPU per task: worker + server, WAL", *(TITLES[work] for work in summary.works)]
    body = [[peer, *(summary.cell(peer, work) for work in summary.works)] for peer in summary.peers]
    tops = [_ceiling(summary, CEILING_OF.get(work, "")) for work in summary.works]
    return head, [*body, ["bare SQL", *tops]] if any(tops) else body


def table(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    return "".join(f"{line}\n" for line in [_line(head), _line(["---"] * len(head)), *map(_line, body)])


def _ceiling(summary: Summary, work: str) -> str:
    cell = summary.cell(CEILING, work)
    return f"{cell}\n{work}" if cell else ""


def _judged(verdict: Verdict) -> list[str]:
    return [verdict.bar.title, verdict.reached, verdict.asked, "met" if verdict.met else "MISSED"]


def _drawn(head: Iterable[str], body: Iterable[Sequence[str]], *, lines: bool) -> Table:
    table = Table(show_lines=lines)
    for title in head:
        table.add_column(title)
    for row in body:
        table.add_row(*row)
    return table


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("\n", "<br>") for cell in cells) + " |"
