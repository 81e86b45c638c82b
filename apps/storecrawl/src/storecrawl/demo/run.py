"""Run a demo: one full cycle to the end, or a crawl that goes on, with what happens shown meanwhile."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rolecall import Client

from storecrawl.app import build_app
from storecrawl.demo.figures import Figures
from storecrawl.demo.options import DemoOptions
from storecrawl.demo.stage import Stage
from storecrawl.settings import CrawlSettings

LOOK_SECONDS = 0.25
Show = Callable[[Figures, float], None]


class Stopped(Exception):
    """Somebody asked the demo to end."""


@dataclass(frozen=True, slots=True)
class Cycle:
    """One full cycle: the final figures, the seconds it took, and what should exist and does not."""

    figures: Figures
    seconds: float
    problems: list[str]


def run_cycle(options: DemoOptions, show: Show) -> Cycle:
    """Discover, fetch and refresh every store once, then refresh the views. Raises Stopped on SIGINT and SIGTERM."""
    began = time.monotonic()
    app = build_app(CrawlSettings(schedules=False))
    with stop_on_signals(), Stage(options) as stage, Client(stage.dsn, app=app) as client:
        for handler in ("store_discovery", "analytics_refresh"):
            client.enqueue(handler, dedupe_key="demo")
            figures = _until_done(stage, lambda seen: show(seen, time.monotonic() - began))
        expected = figures.stores if options.upstream else options.stores
        return Cycle(figures, time.monotonic() - began, figures.problems(expected))


def run_on(options: DemoOptions, show: Show) -> None:
    """Crawl until SIGINT or SIGTERM; raises Stopped then."""
    began = time.monotonic()
    with stop_on_signals(), Stage(options) as stage:
        for figures in watch(stage):
            show(figures, time.monotonic() - began)


def _until_done(stage: Stage, show: Callable[[Figures], None]) -> Figures:
    for figures in watch(stage):
        show(figures)
        if figures.open_tasks == 0:
            return figures
    raise AssertionError("a watch has no end")


def watch(stage: Stage) -> Iterator[Figures]:
    """Yield the figures again and again, restarting meanwhile what has died."""
    while True:
        stage.keep_running()
        figures = stage.figures()
        if figures is not None:
            yield figures
        time.sleep(LOOK_SECONDS)


@contextmanager
def stop_on_signals() -> Iterator[None]:
    """Turn SIGTERM and SIGINT into an orderly end."""

    def stop(_number: int, _frame: object) -> None:
        raise Stopped

    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, stop) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
