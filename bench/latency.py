"""Measures how long a task waits for an idle worker: from the return of the enqueue to the start of the task."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.crew import Crew
from bench.tally import clear, read_stamps

WARM_UP = (-1, -2, -3)
WARM_UP_INTERVAL = 0.3
START_SECONDS = 30.0
LAST_SECONDS = 15.0
CALM_SECONDS = 1.0
LOOK_SECONDS = 0.02
MILLI = 1e-6


@dataclass(frozen=True, slots=True)
class Sent:
    """One latency task: nanoseconds before the enqueue call and after its return."""

    number: int
    before: int
    after: int


Send = Callable[[Sequence[int], float], list[Sent]]


class LatencyFailed(Exception):
    """The warm-up tasks did not run."""


class Latency:
    """One idle worker, and tasks that arrive one at a time."""

    def __init__(self, folder: Path, log: Path, script: str) -> None:
        self._folder = folder
        self._log = log
        self._script = script

    def run(self, send: Send, count: int, interval: float) -> Mapping[str, object]:
        """Return percentiles and all waits in ms; `call_*` counts from before the call. Raises LatencyFailed."""
        clear(self._folder)
        with Crew(self._script, 1, self._log) as crew:
            send(WARM_UP, WARM_UP_INTERVAL)
            if not self._wait_for(len(WARM_UP), START_SECONDS):
                raise LatencyFailed(f"the warm-up tasks did not run: {crew.last_words()}")
            time.sleep(CALM_SECONDS)
            sent = send(range(count), interval)
            self._wait_for(count + len(WARM_UP), LAST_SECONDS)
        return _percentiles(sent, read_stamps(self._folder))

    def _wait_for(self, number: int, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while len(read_stamps(self._folder)) < number:
            if time.monotonic() > deadline:
                return False
            time.sleep(LOOK_SECONDS)
        return True


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the value nearest to a percentile of the sorted values."""
    ranked = sorted(values)
    return round(ranked[round(percent / 100 * (len(ranked) - 1))], 3)


def _percentiles(sent: Sequence[Sent], started: Mapping[int, int]) -> Mapping[str, object]:
    ran = [each for each in sent if each.number in started]
    if not ran:
        raise LatencyFailed("no task ran")
    waits = [(started[each.number] - each.after) * MILLI for each in ran]
    with_call = [(started[each.number] - each.before) * MILLI for each in ran]
    calls = [(each.after - each.before) * MILLI for each in sent]
    return (
        {"n": len(sent), "ran": len(ran), "enqueue_call_p50": percentile(calls, 50)}
        | {"waits": [round(wait, 2) for wait in sorted(waits)]}
        | {f"p{percent}": percentile(waits, percent) for percent in (50, 95, 99)}
        | {f"call_p{percent}": percentile(with_call, percent) for percent in (50, 95, 99)}
    )
