"""Run a demo in the terminal, and print its result."""

from __future__ import annotations

import json
import sys

from rolecall.cli import complain
from storecrawl.cli.commands import NAME
from storecrawl.demo.options import DemoOptions
from storecrawl.demo.run import Cycle, StopRequested, run_cycle, run_on
from storecrawl.demo.screen import screen_for

INCOMPLETE = 1
SIGNALLED = 128


def demo_once(options: DemoOptions, *, as_json: bool) -> int:
    """Run one cycle, print its summary, and return the exit code."""
    try:
        with screen_for(options, quiet=as_json) as screen:
            cycle = run_cycle(options, screen)
    except StopRequested as end:
        return SIGNALLED + end.number
    print(json.dumps(cycle.summary()) if as_json else _summary(cycle))
    if cycle.api and not as_json and sys.stdout.isatty():
        print("The dashboard has stopped with the cycle; without --once, both run until Ctrl-C.")
    for problem in cycle.problems:
        complain(NAME, problem, INCOMPLETE)
    return INCOMPLETE if cycle.problems else 0


def demo_on(options: DemoOptions) -> int:
    """Run until a signal, and return the exit code."""
    try:
        with screen_for(options, quiet=False) as screen:
            run_on(options, screen)
    except StopRequested:
        print(f"Stopped. All data is in {options.data_dir}; the next demo there continues.")
    return 0


def _summary(cycle: Cycle) -> str:
    figures = cycle.figures
    return (
        f"{figures.stores:,} stores, {figures.payloads:,} payloads, {figures.products:,} products with"
        f" {figures.variants:,} variants, {figures.snapshots:,} snapshots; {figures.ended_tasks:,} tasks,"
        f" {figures.failed_tasks:,} of them failed; {cycle.seconds:.1f} seconds"
    )
