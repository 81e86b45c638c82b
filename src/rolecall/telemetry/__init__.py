"""Telemetry events and the format of log lines.

    worker, client, maintenance, service ──▶ Emitter ──▶ log lines and tallies for metrics, immediately
                                                    └──▶ each sink of the app, in a thread of its own

`events` defines the events, `groups` combines those that occur for every task, `emitter` passes them to sinks,
`measures` counts them, and `log_sink` is the sink that every process has. `logs` formats log records, and `context`
adds the task to them.
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
