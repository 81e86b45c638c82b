"""Samples where a Python process spends CPU time: a thread inspects all others fifty times a second.

The CPU time of a thread since the last sample (from the kernel) is attributed to the innermost function of this
project on its stack, or to the innermost function if there is none. Waiting therefore costs nothing, and
libraries count for their callers. The child processes of `ctx.in_process` are not sampled; their CPU time counts
for the workers as a whole.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType

FOLDER = "BENCH_SAMPLES"
LOOK_SECONDS = 0.02
KEEP_SECONDS = 1.0
PACKAGES = ("storecrawl.", "rolecall.")
# Frames below these can be anything that a thread runs.
STARTERS = ("rolecall.worker.loop:run", "rolecall.cli.")
A_NANOSECOND = 1e-9


def start_sampling(folder: Path) -> None:
    """Sample this process until it ends, and keep the results in a separate file in the folder."""
    file = folder / f"{os.getpid()}.json"
    threading.Thread(target=_sample, args=(file,), name="bench-sampler", daemon=True).start()


def read_samples(folder: Path) -> dict[str, float]:
    """Return CPU seconds by `module:function` of all processes that have written to the folder."""
    total: dict[str, float] = defaultdict(float)
    for file in folder.glob("*.json"):
        for place, seconds in json.loads(file.read_text()).items():
            total[place] += seconds
    return total


def _sample(file: Path) -> None:
    spent: dict[str, float] = defaultdict(float)
    before: dict[int, int] = {}
    kept_at = 0.0
    while True:
        time.sleep(LOOK_SECONDS)
        for place, nanoseconds in _look(before):
            spent[place] += nanoseconds * A_NANOSECOND
        if time.monotonic() - kept_at > KEEP_SECONDS:
            _keep(file, spent)
            kept_at = time.monotonic()


def _look(before: dict[int, int]) -> Iterator[tuple[str, int]]:
    frames = sys._current_frames()  # noqa: SLF001 - the documented way for debuggers
    # This thread's frame would reference itself, and with it all objects of the others, until garbage collection.
    frames.pop(threading.get_ident())
    for thread in threading.enumerate():
        number, frame = thread.native_id, frames.get(thread.ident or 0)
        if number is None or frame is None:
            continue
        now = _cpu(number)
        yield _place(frame), now - before.get(number, now)
        before[number] = now


def _cpu(thread: int) -> int:
    try:
        return int(Path(f"/proc/self/task/{thread}/schedstat").read_text().split()[0])
    except (OSError, ProcessLookupError):
        return 0


def _place(innermost: FrameType) -> str:
    frame: FrameType | None = innermost
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        place = f"{module}:{frame.f_code.co_qualname}"
        if module.startswith(PACKAGES) and not place.startswith(STARTERS):
            return place
        frame = frame.f_back
    return f"{innermost.f_globals.get('__name__')}:{innermost.f_code.co_qualname}"


def _keep(file: Path, spent: Mapping[str, float]) -> None:
    draft = file.with_suffix(".draft")
    draft.write_text(json.dumps(spent))
    draft.replace(file)
