"""The demo's face: in a terminal a board that lives, elsewhere a line now and then, for a machine nothing."""

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
    """What a demo shows itself on."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def note(self, text: str) -> None:
        """Say in a few words what is being done."""

    def tell(self, address: str) -> None:
        """Say where the dashboard is: who opens this address comes in."""

    def show(self, figures: Figures | None) -> None:
        """Show the figures of this moment; None while the database is away."""


def screen_for(options: DemoOptions, *, quiet: bool) -> Screen:
    """Return the face that fits where standard output goes."""
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
        """Nobody reads it."""

    def tell(self, address: str) -> None:
        """Nobody asks."""

    def show(self, figures: Figures | None) -> None:
        """Nobody looks."""


class Lines:
    """Prints a line for each note and, every five seconds, one with the figures."""

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
        """Print it."""
        self._board.note = text
        self._print(self._board.line())

    def tell(self, address: str) -> None:
        """Print it."""
        self.note(f"the dashboard: {address}")

    def show(self, figures: Figures | None) -> None:
        """Print the figures when it is time."""
        self._board.look(figures)
        if time.monotonic() >= self._next:
            self._print(self._board.line())
            self._next = time.monotonic() + LINE_SECONDS

    def _print(self, text: str) -> None:
        self._console.print(text, soft_wrap=True, markup=False)


class Lively:
    """Redraws one board in place; what is redrawn is whole, so nothing flickers."""

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
        """Show it on the board."""
        self._board.note = text
        self._live.refresh()

    def tell(self, address: str) -> None:
        """Print it above the board, where a line may be longer, and on it in short."""
        self._live.console.print(f"the dashboard: {address}", soft_wrap=True, markup=False)
        self._board.api = "{0.scheme}://{0.netloc}".format(urlsplit(address))
        self._live.refresh()

    def show(self, figures: Figures | None) -> None:
        """Bring the board up to date."""
        self._board.look(figures)
        self._live.refresh()
