"""The demo's output: a live board in a terminal, otherwise occasional lines, and nothing with `--json`."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Protocol, Self
from urllib.parse import urlsplit

from rich.console import Console
from rich.live import Live

from storecrawl.demo.board import Board
from storecrawl.demo.figures import Figures
from storecrawl.demo.options import DemoOptions

LINE_SECONDS = 5.0


class Screen(Protocol):
    """The output of a demo."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def note(self, text: str) -> None:
        """Show in a few words what the demo is doing."""

    def show_address(self, address: str) -> None:
        """Show the dashboard's address, which logs its user in."""

    def show(self, figures: Figures | None) -> None:
        """Show the current figures; None while the database is unavailable."""


def screen_for(options: DemoOptions, *, quiet: bool) -> Screen:
    """Return the screen for the type of standard output."""
    console = Console(highlight=False)
    if quiet:
        return Quiet()
    return Lively(console, options) if console.is_terminal else Lines(console, options)


class Quiet:
    """Shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def note(self, text: str) -> None:
        """Show nothing."""

    def show_address(self, address: str) -> None:
        """Show nothing."""

    def show(self, figures: Figures | None) -> None:
        """Show nothing."""


class Lines:
    """Prints a line for each note, and one with the figures every five seconds."""

    def __init__(self, console: Console, options: DemoOptions) -> None:
        self._console = console
        self._board = Board(options)
        self._next = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def note(self, text: str) -> None:
        self._board.note = text
        self._print(self._board.line())

    def show_address(self, address: str) -> None:
        self.note(f"dashboard: {address}")

    def show(self, figures: Figures | None) -> None:
        self._board.look(figures)
        if time.monotonic() >= self._next:
            self._print(self._board.line())
            self._next = time.monotonic() + LINE_SECONDS

    def _print(self, text: str) -> None:
        self._console.print(text, soft_wrap=True, markup=False)


class Lively:
    """Redraws one board in place, always as a whole to avoid flicker."""

    def __init__(self, console: Console, options: DemoOptions) -> None:
        self._board = Board(options)
        self._live = Live(self._board, console=console, auto_refresh=False)

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def note(self, text: str) -> None:
        self._board.note = text
        self._live.refresh()

    def show_address(self, address: str) -> None:
        """Print the address above the board, where the line may be longer, and a short form on it."""
        self._live.console.print(f"dashboard: {address}", soft_wrap=True, markup=False)
        self._board.api = "{0.scheme}://{0.netloc}".format(urlsplit(address))
        self._live.refresh()

    def show(self, figures: Figures | None) -> None:
        self._board.look(figures)
        self._live.refresh()
