"""What happens, told to whoever wants to hear of it, and how lines of a log look.

    worker, client, maintenance, service ──▶ Emitter ──▶ lines of the log, and a tally for metrics, at once
                                                    └──▶ each sink of the app, in a thread of its own

`events` says what there is to tell, `groups` tells what happens to every task, `emitter` brings it to the sinks,
`measures` counts it, `log_sink` is the sink that everybody has; `logs` decides how a line looks, whoever writes it, and
`context` which task it is told by.
"""

from __future__ import annotations

from rolecall.telemetry.context import TaskFilter, add_task_fields, task_fields
from rolecall.telemetry.emitter import Emits, Emitter, UntilCommit
from rolecall.telemetry.events import Event, EventSink, EventType, TaskFacts, WorkerFacts
from rolecall.telemetry.log_sink import LogSink

__all__ = [
    "Emits",
    "Emitter",
    "Event",
    "EventSink",
    "EventType",
    "LogSink",
    "TaskFacts",
    "TaskFilter",
    "UntilCommit",
    "WorkerFacts",
    "add_task_fields",
    "task_fields",
]
