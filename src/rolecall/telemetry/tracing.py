"""The interface of sinks that also trace: contexts around operations, which become spans.

    client: enqueuing ──▶ the context that is stored with the tasks
    worker: attempt ──▶ step (prepare, complete) ──▶ following: the context of follow-up tasks

Without a tracing sink, none of this is called and no traces are read from the database.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Any, Protocol, runtime_checkable

from rolecall.model.tasks import Enqueued, NewTask, NextTasks
from rolecall.telemetry.context import AtWork

# The stored contexts of a task and of related tasks, each with its relation to the task.
Traces = Sequence[tuple[str, str]]


class EnqueueTrace(Protocol):
    """An enqueue in progress."""

    @property
    def trace_context(self) -> str | None:
        """The context to store with the tasks."""

    def note_stored(self, answers: Sequence[Enqueued]) -> None:
        """Called with the stored tasks, or with the existing tasks they duplicate."""


class Attempt(Protocol):
    """An attempt of one task or of a batch. Unless `records` is true, `ended` is not called."""

    @property
    def records(self) -> bool: ...

    def note_end(self, traces: Traces, *, outcome: str, error: str | None) -> None:
        """Called with the outcome of each task. Without an error, it succeeded."""


@runtime_checkable
class Arrives(Protocol):
    """The value of a context variable that acts when it arrives in another process."""

    def arrive(self) -> None:
        """Called in the other process, in the handler's context."""


@runtime_checkable
class Tracing(Protocol):
    """A sink that also traces."""

    @property
    def carried(self) -> Sequence[ContextVar[Any]]:
        """The context variables to copy into a handler's process. Values can implement `Arrives`."""

    def trace_enqueue(self, batch: Sequence[NewTask]) -> AbstractContextManager[EnqueueTrace]:
        """Return a context around an enqueue."""

    def attempt(self, at_work: AtWork, traces: Traces) -> AbstractContextManager[Attempt]:
        """Return a context around an attempt, entered in its slot."""

    def trace_next(self, next_tasks: NextTasks) -> None:
        """Write the trace contexts into the tasks that an attempt requests."""

    def step(self, name: str) -> AbstractContextManager[None]:
        """Return a context around a step of an attempt: prepare, complete."""


def tracing_of(sinks: Iterable[object]) -> Tracing | None:
    """Return the first sink that traces, or None."""
    return next((sink for sink in sinks if isinstance(sink, Tracing)), None)


def step(tracing: Tracing | None, name: str) -> AbstractContextManager[None]:
    """Return a context around a step of an attempt. Does nothing without a tracing sink."""
    return nullcontext() if tracing is None else tracing.step(name)
