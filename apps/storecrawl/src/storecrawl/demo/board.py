"""The demo's figures as a board for a terminal, or as one line."""

from __future__ import annotations

import time
from collections import deque

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from rolecall.cli import shown
from storecrawl.demo.figures import Figures
from storecrawl.demo.machine import PAYLOADS, UPSTREAM_LOG, WORKERS_LOG
from storecrawl.demo.options import DemoOptions

WIDTH = 92
LABEL_WIDTH = 10
NUMBER_WIDTH = 12
AWAY = "waiting for the database, which does not respond"
WINDOW_SECONDS = 10.0


class Board:
    """The figures of a demo since its start; `note` is shown instead while there is one.

    `api` is the address of dashboard and API.
    """

    def __init__(self, options: DemoOptions) -> None:
        self.note = ""
        self.api: str | None = None
        self._options = options
        self._began = time.monotonic()
        self._figures = Figures()
        self._payloads = Rate()
        self._tasks = Rate()

    def look(self, figures: Figures | None) -> None:
        """Take the current figures; None while the database is unavailable."""
        self.note = "" if figures else AWAY
        if figures is not None:
            self._figures = figures
            self._payloads.look(self._seconds, figures.payloads)
            self._tasks.look(self._seconds, figures.ended_tasks)

    def line(self) -> str:
        seen = self._figures
        what = self.note or (
            f"stores {seen.refreshed_stores}/{seen.stores}  payloads {seen.payloads}  products {seen.products}"
            f"  tasks {seen.ended_tasks} done {seen.open_tasks} open {seen.retrying} retrying"
            f" {seen.failed_tasks} failed  {self._tasks.per_second:.1f}/s"
        )
        return f"{self._seconds:7.1f} s  {what}"

    def __rich__(self) -> RenderableType:
        ending = "ends after one full cycle" if self._options.once else "Ctrl-C to stop"
        return Panel(
            Group(self._numbers(), Text(), self._work(), Text(), self._places()),
            title="[bold]storecrawl demo[/]",
            subtitle=f"{_clock(self._seconds)}  ·  {ending}",
            width=WIDTH,
            padding=(1, 2),
        )

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._began

    def _numbers(self) -> Table:
        seen = self._figures
        table = _grid(NUMBER_WIDTH)
        bar = ProgressBar(total=max(seen.stores, 1), completed=seen.refreshed_stores, width=40)
        table.add_row("stores", f"{seen.refreshed_stores:,} / {seen.stores:,}", bar)
        table.add_row("payloads", f"{seen.payloads:,}", _rate(self._payloads))
        table.add_row("products", f"{seen.products:,}", Text(f"with {seen.variants:,} variants", "dim"))
        table.add_row("snapshots", f"{seen.snapshots:,}", "")
        table.add_row("done", f"{seen.ended_tasks:,}", Text.assemble(("tasks, ", "dim"), _rate(self._tasks)))
        table.add_row("open", f"{seen.open_tasks:,}", Text(f"{seen.retrying:,} of them retrying", "dim"))
        table.add_row("failed", Text(f"{seen.failed_tasks:,}", "bold red" if seen.failed_tasks else ""), "")
        return table

    def _work(self) -> Table:
        table = _grid(None)
        table.add_row("now", Text(self.note or _running_text(self._figures), "bold" if self.note else ""))
        trouble = self._figures.trouble
        table.add_row("trouble", Text(shown(_first_line(trouble)), "yellow") if trouble else Text("none", "dim"))
        return table

    def _places(self) -> Table:
        folder = self._options.data_dir
        database = "--data-dir " + str(folder) if self._options.database is None else "--database-url URL"
        table = _grid(None)
        table.add_row("payloads", Text(str(folder / PAYLOADS), "dim"))
        table.add_row("logs", Text(f"{folder / WORKERS_LOG}, {UPSTREAM_LOG}", "dim"))
        table.add_row("look", Text(f"rolecall tasks list {database}", "dim"))
        if self.api is not None:
            table.add_row("dashboard", Text(f"{self.api}/", "bold"))
        return table


def _grid(number_width: int | None) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", width=LABEL_WIDTH)
    if number_width is not None:
        table.add_column(justify="right", width=number_width)
    table.add_column(no_wrap=True, overflow="ellipsis")
    return table


def _running_text(figures: Figures) -> str:
    running = ", ".join(f"{number} {handler}" for handler, number in figures.running.items())
    if running or figures.open_tasks or figures.idle_seconds is None:
        return running or "waiting"
    return f"everything is fetched; the next round is due in {max(0.0, figures.idle_seconds):.0f} s"


def _rate(rate: Rate) -> Text:
    return Text(f"{rate.per_second:.1f} per second", "dim")


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02d}"


class Rate:
    """The increase of a number per second, over a moving window."""

    def __init__(self) -> None:
        self._looks: deque[tuple[float, int]] = deque()

    def look(self, seconds: float, number: int) -> None:
        self._looks.append((seconds, number))
        while self._looks[-1][0] - self._looks[0][0] > WINDOW_SECONDS:
            self._looks.popleft()

    @property
    def per_second(self) -> float:
        if len(self._looks) < 2:  # noqa: PLR2004 - a slope needs two points
            return 0.0
        (began, first), (ended, last) = self._looks[0], self._looks[-1]
        return (last - first) / (ended - began) if ended > began else 0.0
