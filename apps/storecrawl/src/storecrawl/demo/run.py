"""Run a demo: one full cycle, or a continuous crawl, with its progress on the screen."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from storecrawl.demo.audit import find_problems, take_inventory
from storecrawl.demo.database import Connection
from storecrawl.demo.figures import Figures, read_figures
from storecrawl.demo.gaps import Gaps, find_gaps, find_missing
from storecrawl.demo.machine import PAYLOADS
from storecrawl.demo.options import DemoOptions
from storecrawl.demo.requests import enqueue, retry_failed
from storecrawl.demo.screen import Screen
from storecrawl.demo.stage import Stage

T = TypeVar("T")

LOOK_SECONDS = 0.25
# Reading figures takes at most a tenth of the time, however much there is to count.
PAUSE_FACTOR = 9.0
LONGEST_PAUSE_SECONDS = 5.0
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class StopRequested(Exception):
    """The demo must end because of this signal."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """One full cycle: the final figures, its duration in seconds, what is missing, and the dashboard's address.

    `gaps` are the skipped stores and places; `problems` has a sentence for each of them and for all other problems.
    """

    figures: Figures
    seconds: float
    gaps: Gaps
    problems: tuple[str, ...]
    api: str | None

    def summary(self) -> dict[str, Any]:
        return {**self.figures.summary(self.seconds), **self.gaps.summary(), "api": self.api}


def run_cycle(options: DemoOptions, screen: Screen) -> Cycle:
    """Discover, fetch and refresh every store once, then refresh the views; in a used folder, finish what is left.

    Raises Stopped on a signal.
    """
    began = time.monotonic()
    with stop_on_signals(), Stage(options, note=screen.note, show_address=screen.show_address) as stage:
        _query_until_answered(stage, partial(retry_failed, app=stage.app))
        for handler in ("store_discovery", "analytics_refresh"):
            _query_until_answered(stage, partial(enqueue, app=stage.app, handler=handler))
            figures = _wait_until_done(stage, screen)
        return _conclude(stage, options, figures, began)


def run_on(options: DemoOptions, screen: Screen) -> None:
    """Crawl until Stopped is raised by a signal."""
    with stop_on_signals(), Stage(options, note=screen.note, show_address=screen.show_address) as stage:
        for figures in _query_repeatedly(stage, partial(read_figures, roles=list(stage.app.roles))):
            screen.show(figures)


@contextmanager
def stop_on_signals() -> Iterator[None]:
    """Turn termination signals into Stopped; a second one during the cleanup speeds it up."""

    def stop(number: int, _frame: object) -> None:
        raise StopRequested(number)

    before = [signal.signal(number, stop) for number in STOP_SIGNALS]
    try:
        yield
    finally:
        for number, handler in zip(STOP_SIGNALS, before, strict=True):
            signal.signal(number, handler)


def _wait_until_done(stage: Stage, screen: Screen) -> Figures:
    for figures in _query_repeatedly(stage, partial(read_figures, roles=list(stage.app.roles))):
        screen.show(figures)
        if figures is not None and figures.open_tasks == 0:
            return figures
    raise AssertionError("unreachable")


def _conclude(stage: Stage, options: DemoOptions, figures: Figures, began: float) -> Cycle:
    inventory, gaps = _query_until_answered(stage, take_inventory), _query_until_answered(stage, find_gaps)
    # An upstream with random failures also cuts menus and claims that they are complete.
    world = None if options.failure_rate else stage.world
    missing = _query_until_answered(stage, partial(find_missing, state=world)) if world else ()
    problems = (
        *find_problems(inventory, gaps, figures, options.data_dir / PAYLOADS, stage.expected_stores),
        *(each.sentence() for each in missing),
    )
    exact = replace(figures, snapshots=inventory.snapshots)
    return Cycle(figures=exact, seconds=time.monotonic() - began, gaps=gaps, problems=problems, api=stage.api)


def _query_until_answered(stage: Stage, operation: Callable[[Connection], T]) -> T:
    for answer in _query_repeatedly(stage, operation):
        if answer is not None:
            return answer
    raise AssertionError("unreachable")


def _query_repeatedly(stage: Stage, operation: Callable[[Connection], T]) -> Iterator[T | None]:
    while True:
        stage.keep_running()
        began = time.monotonic()
        answer = stage.query(operation)
        pause = PAUSE_FACTOR * (time.monotonic() - began)
        yield answer
        time.sleep(min(max(LOOK_SECONDS, pause), LONGEST_PAUSE_SECONDS))
