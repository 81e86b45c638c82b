"""A process that cannot be stopped: `python -m tests.scenarios.stuck thread|task`."""

from __future__ import annotations

import asyncio
import signal
import sys
import time

from tests.scenarios.chaos import lifeline, stacks


def wait_in_a_thread() -> None:
    say_ready()
    while True:
        time.sleep(60)


async def wait_in_a_task() -> None:
    stacks.tell_tasks()
    say_ready()
    await asyncio.create_task(never_ending())


async def never_ending() -> None:
    await asyncio.Event().wait()


def say_ready() -> None:
    sys.stderr.write("ready")
    sys.stderr.flush()


if __name__ == "__main__":
    lifeline.hold()
    stacks.tell_threads()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if sys.argv[1] == "thread":
        wait_in_a_thread()
    else:
        asyncio.run(wait_in_a_task())
