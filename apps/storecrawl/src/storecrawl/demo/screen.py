"""The demo's face in a terminal: a table that lives, or a line now and then where there is no terminal."""

from __future__ import annotations

from collections import deque
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from storecrawl.demo.figures import Figures

RATE_WINDOW = 20
LINE_SECONDS = 5.0


class Screen:
    """Shows figures as they come; quiet when told so."""

    def __init__(self, console: Console, *, title: str, quiet: bool = False) -> None:
        self._console = console
        self._title = title
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal and not quiet else None
        self._quiet = quiet
        self._looks: deque[tuple[float, int]] = deque(maxlen=RATE_WINDOW)
        self._next_line = 0.0

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, figures: Figures, seconds: float) -> None:
        """Show the figures of this moment, `seconds` after the start."""
        self._looks.append((seconds, figures.ended_tasks))
        if self._live is not None:
            self._live.update(self._table(figures, seconds), refresh=True)
        elif not self._quiet and seconds >= self._next_line:
            self._console.print(self._line(figures, seconds))
            self._next_line = seconds + LINE_SECONDS

    def _rate(self) -> float:
        (first, before), (last, after) = self._looks[0], self._looks[-1]
        return (after - before) / (last - first) if last > first else 0.0

    def _line(self, figures: Figures, seconds: float) -> str:
        return (
            f"{seconds:6.1f} s  stores {figures.refreshed_stores}/{figures.stores}  payloads {figures.payloads}"
            f"  products {figures.products}  tasks {figures.ended_tasks} done, {figures.open_tasks} open,"
            f" {figures.tasks.get('failed', 0)} failed  {self._rate():.1f}/s"
        )

    def _table(self, figures: Figures, seconds: float) -> Table:
        table = Table(title=f"{self._title}  {seconds:.0f} s", show_header=False, min_width=60)
        table.add_row("stores", f"{figures.refreshed_stores} of {figures.stores} refreshed", _bar(figures))
        table.add_row("payloads", f"{figures.payloads:,}")
        table.add_row("products", f"{figures.products:,} with {figures.variants:,} variants")
        table.add_row("snapshots", f"{figures.snapshots:,}")
        table.add_row("tasks", f"{figures.ended_tasks:,} done, {figures.open_tasks:,} open", f"{self._rate():.1f} a second")
        table.add_row("failures", f"{figures.tasks.get('failed', 0):,}")
        return table


def _bar(figures: Figures) -> ProgressBar:
    return ProgressBar(total=max(figures.stores, 1), completed=figures.refreshed_stores, width=24)
