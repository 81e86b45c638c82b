"""What a sink that traces is asked for, beside the events that it hears of: a context around what others see as spans.

    client: enqueuing ──▶ the context that is stored with the tasks
    worker: attempt ──▶ step (prepare, complete) ──▶ following: the context of what this one asks for

Where no sink traces nothing of this is called, and nobody asks the database for traces.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Any, Protocol, runtime_checkable

from rolecall.model.tasks import Enqueued, NewTask, NextTasks
from rolecall.telemetry.context import AtWork

__all__ = ["Arrives", "Asking", "Attempt", "Traces", "Tracing", "step", "tracing_of"]

# What is stored of a task's own trace and of those around it: each with its relation to the task.
Traces = Sequence[tuple[str, str]]


class Asking(Protocol):
    """Tasks that are being enqueued."""

    @property
    def trace_context(self) -> str | None:
        """What is to be stored with them."""

    def stored(self, answers: Sequence[Enqueued]) -> None:
        """Hear which tasks they are, or which stood for them."""


class Attempt(Protocol):
    """What a slot works on: one task, or the tasks of a batch. Unless it `records`, nobody tells it how they ended."""

    @property
    def records(self) -> bool: ...

    def ended(self, traces: Traces, *, outcome: str, error: str | None) -> None:
        """Hear what became of a task, of a batch one after the other; without an error it went well."""


@runtime_checkable
class Arrives(Protocol):
    """The value of a context variable that has something to do where it was carried to."""

    def arrive(self) -> None:
        """Be told that this is another process, in the context of a handler."""


@runtime_checkable
class Tracing(Protocol):
    """A sink that traces, too."""

    @property
    def carried(self) -> Sequence[ContextVar[Any]]:
        """What goes with a handler into its process; values may be such as `Arrives`."""

    def enqueuing(self, batch: Sequence[NewTask]) -> AbstractContextManager[Asking]:
        """Stand around an enqueue."""

    def attempt(self, at_work: AtWork, traces: Traces) -> AbstractContextManager[Attempt]:
        """Stand around an attempt at a task, in the slot that makes it."""

    def following(self, next_tasks: NextTasks) -> None:
        """Within an attempt, write into what it asks for to which trace that belongs."""

    def step(self, name: str) -> AbstractContextManager[None]:
        """Stand around a step of an attempt: prepare, complete."""


def tracing_of(sinks: Iterable[object]) -> Tracing | None:
    """The sink that traces, the first of them; None where none does."""
    return next((sink for sink in sinks if isinstance(sink, Tracing)), None)


def step(tracing: Tracing | None, name: str) -> AbstractContextManager[None]:
    """Stand around a step of an attempt if somebody traces."""
    return nullcontext() if tracing is None else tracing.step(name)
