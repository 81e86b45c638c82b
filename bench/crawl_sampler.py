"""Where the CPU time of a Python process goes: a thread looks at all others fifty times a second.

What a thread has burnt since the last look (by the kernel's count) is put down to the innermost function of ours that
it is in, or to the innermost one where none is ours. So waiting costs nothing, and what libraries burn counts for
whoever called them. The processes in which handlers have functions called (`ctx.in_process`) are not looked at: what
they burn counts for the workers as a whole.
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
# Below these is whatever a thread does.
STARTERS = ("rolecall.worker.loop:run", "rolecall.cli.")
A_NANOSECOND = 1e-9


def start_sampling(folder: Path) -> None:
    """Look at this process until it ends; what was seen so far stands in a file of its own there."""
    file = folder / f"{os.getpid()}.json"
    threading.Thread(target=_sample, args=(file,), name="bench-sampler", daemon=True).start()


def read_samples(folder: Path) -> dict[str, float]:
    """CPU seconds by `module:function`, of all processes that wrote into the folder so far."""
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
    # Its own frame would hold itself, and with it all that the others had in hand, until garbage is collected.
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
