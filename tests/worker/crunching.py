"""Process handlers: plain functions at the top level of a module, where a child process can import them."""

from __future__ import annotations

import asyncio
import builtins
import gc
import logging
import os
import re
import signal
import sys
import time
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from opentelemetry import trace

from rolecall import App, Cancel, PermanentFailure, ProcessContext, Redacted, Retry, Snooze, WaitFor
from rolecall.worker.subprocess.messages import RunTask

app = App("crunching")
tenant: ContextVar[object] = ContextVar("tenant", default="nobody")


@dataclass
class Box:
    width: int
    height: int
    packed_at: datetime | None = None


@app.task(process=True)
def measure(box: Box) -> dict[str, Any]:
    """A handler decorated in place, as most are."""
    return {"area": box.width * box.height, "packed": box.packed_at, "pid": os.getpid()}


def introduce(ctx: ProcessContext, sign: str) -> dict[str, Any]:
    ctx.log.info("%s at work", sign)
    return {"id": ctx.task_id, "attempt": ctx.attempt, "key": ctx.key, "once": ctx.idempotency_key}


def whisper() -> None:
    logging.getLogger("rolecall.mill").debug("the mill whispers")


def ask_the_till() -> None:
    logging.getLogger("shop.prices").info("asked the till")


def for_whom(suffix: str = "") -> str:
    result = f"{tenant.get()}{suffix}"
    tenant.set("whoever came last")
    return result


def echo(ctx: ProcessContext, /, **payload: Any) -> dict[str, Any]:
    return payload


def linger(ctx: ProcessContext, folder: str) -> dict[str, int]:
    """Record the process id, then wait until the test releases it."""
    begin(ctx, folder)
    while not (Path(folder) / "go").exists():
        time.sleep(0.01)
    return {"pid": os.getpid()}


def grind(ctx: ProcessContext, folder: str) -> None:
    """Hold the interpreter's lock forever and ignore every signal that can be ignored."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    begin(ctx, folder)
    re.match(r"(a+)+$", "a" * 60 + "b")


def begin(ctx: ProcessContext, folder: str) -> None:
    unfinished = Path(folder) / "unfinished"
    unfinished.write_text(str(os.getpid()))
    unfinished.rename(Path(folder) / f"begun-{ctx.attempt}")


def decide(kind: str) -> object:
    match kind:
        case "error":
            raise ValueError("bad price \0 \ud800")
        case "permanent":
            raise PermanentFailure("never again")
        case "retry":
            raise Retry(after=3600) from OSError("busy")
        case "snooze":
            return Snooze(3600)
        case "cancel":
            return Cancel("pointless")
        case "leave":
            sys.exit(3)
        case "forgotten":
            return asyncio.sleep(0)
    return object()


def wait_for(task_id: int) -> WaitFor:
    return WaitFor(task_id)


def requests_known() -> int:
    """Count the requests that this process still stores."""
    return sum(isinstance(each, RunTask) for each in gc.get_objects())


def die(how: str) -> None:
    match how:
        case "exit 0":
            os._exit(0)
        case "exit 7":
            os._exit(7)
        case "segfault":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "out of memory":
            os.kill(os.getpid(), signal.SIGKILL)
        case "hang up":
            os.closerange(3, 100)
            time.sleep(60)


def stack(box: Box, *, times: int) -> Box:
    """Called from an async handler; accepts and returns an object."""
    return Box(box.width, box.height * times, box.packed_at)


def spoil(folder: str) -> None:
    """Fail with an error message."""
    raise LookupError(f"no box in {folder}")


def unhandable() -> object:
    """Return a value that cannot be pickled."""
    return lambda: None


def stick(folder: str) -> None:
    """Hold the interpreter's lock forever and ignore every signal that can be ignored."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    unfinished = Path(folder) / "unfinished"
    unfinished.write_text(str(os.getpid()))
    unfinished.rename(Path(folder) / "begun-1")
    re.match(r"(a+)+$", "a" * 60 + "b")


def trace_here() -> str:
    """Return the current span."""
    here = trace.get_current_span().get_span_context()
    return f"{here.trace_id:032x}-{here.span_id:016x}"


def refuse_to_log_in(token: Annotated[str, Redacted]) -> None:
    """Fail with an error that contains all arguments."""
    raise ValueError(f"no such token: {token}")


def count_letters(text: str) -> int:
    return len(text)


@dataclass
class CrateOfWine(Box):
    bottles: int = 6


def pack(crates: dict[int, Box]) -> dict[int, Box]:
    """Return instances of subclasses, by number."""
    return {number: CrateOfWine(crate.width, crate.height) for number, crate in crates.items()}


def call_the_bank() -> None:
    raise ConnectionError("the bank is closed")


def close_the_day() -> None:
    """Fail while handling a group of errors."""
    try:
        try:
            call_the_bank()
        except ConnectionError as error:
            error.add_note("of shop 7")
            raise ExceptionGroup("calls", [error]) from None
    except ExceptionGroup:
        raise ValueError("the day was not closed")  # noqa: B904 - an implicit cause


class Hostile(Exception):
    """An error whose `str` raises its argument."""

    def __str__(self) -> str:
        raise self.args[0]


def raise_hostile(kind: str) -> None:
    raise Hostile((asyncio.CancelledError if kind == "CancelledError" else getattr(builtins, kind))())


def refuse_at_length(token: Annotated[str, Redacted]) -> None:
    raise ValueError("x" * 3_990 + token)


def count_aloud(ctx: ProcessContext) -> None:
    logging.getLogger("shop.prices").info("asked the till for %d", 7)
    ctx.log.warning("it is late")
    print("printed")  # noqa: T201 - standard output is the subject
    print("without an end", end="")  # noqa: T201 - standard output is the subject
