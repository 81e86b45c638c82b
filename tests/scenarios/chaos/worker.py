"""A worker process of the crew, of one release of the app: `python -m tests.scenarios.chaos.worker DSN VERSION`."""

from __future__ import annotations

import sys
from dataclasses import replace

from rolecall import Worker, WorkerOptions
from rolecall.config import LogFormat, LogSettings, read_settings
from rolecall.telemetry.logs import set_up_logging
from rolecall.worker.loop import run
from rolecall.worker.signals import stop_on_signals
from tests.scenarios.chaos import lifeline, stacks
from tests.scenarios.chaos.workload import make_app

SLOTS = 4
OPTIONS = WorkerOptions(slots=SLOTS, poll_interval=0.5, heartbeat_interval=1, grace=10, call_deadline=5)


async def main(dsn: str, version: int) -> None:
    stacks.tell_tasks()
    worker = Worker(make_app(version), dsn, replace(OPTIONS, handoff=read_settings().handoff))
    with stop_on_signals(worker):
        await worker.run()


if __name__ == "__main__":
    lifeline.hold()
    stacks.tell_threads()
    set_up_logging(LogSettings(format=LogFormat.json))
    run(main(sys.argv[1], int(sys.argv[2])))
