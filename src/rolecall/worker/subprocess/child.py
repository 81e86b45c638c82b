"""The process that runs handlers declared with `process=True`, and functions that other handlers have called
in one (`ctx.in_process`), one at a time, until its worker has gone.

    worker                                           this process
    Processes ──▶ HandlerProcess ─────RunTask─────▶ serve ──▶ import the handler
                       ▲   start is recorded ◀─Ready─┘
                       │  └───────────Go───────────▶ serve ──call──▶ handler
                       └──────log records, Answer─────┘◀───────────────┘

The attempt begins with Go, and not before its start is recorded: a worker that dies while this process still imports
has spent nothing.

What a task leaves can be read by any process: a result as JSON text, an error as text. What a function
returns goes to the handler that waits for it, as the object it is. Nothing is written to the database from
here; whether the task is still its worker's, is the worker's business.
"""

from __future__ import annotations

import logging
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from functools import cache
from logging.handlers import QueueHandler
from multiprocessing.connection import Connection
from typing import Any

from rolecall.app.handlers import Extra, HandlerDefinition, HandlerSettings, define
from rolecall.model.outcomes import NoResult
from rolecall.sql.documents import encode_result
from rolecall.telemetry.context import current
from rolecall.telemetry.tracing import Arrives
from rolecall.worker.outcomes import judge, unstored_failure
from rolecall.worker.session import ForkGuard
from rolecall.worker.signals import die_with, heeded_signals
from rolecall.worker.subprocess.context import ProcessContext
from rolecall.worker.subprocess.messages import (
    Address,
    Answer,
    CallFunction,
    Carried,
    Go,
    NoTaskResult,
    Raised,
    Ready,
    Request,
    ReturnValue,
    RunTask,
    TaskResult,
    find,
    function_at,
)

MARK = "ROLECALL_PROCESS"


def serve(connection: Connection, *, parent: int, log_level: int) -> None:
    """Answer requests until the worker closes the connection or ends."""
    os.environ[MARK] = str(os.getpid())
    del sys.argv[1:]
    die_with(parent)
    _leave_stopping_to_the_worker()
    fork_guard = ForkGuard()
    wire = Wire(connection)
    _log_over(wire, log_level)
    requested: RunTask | None = None
    while (request := wire.next()) is not None:
        if isinstance(request, RunTask):
            requested = request
        reply = copy_context().run(answer, request, requested)
        fork_guard.require()
        wire.send(reply)


def answer(request: Request, requested: RunTask | None) -> Answer:
    """Answer a request; `requested` is the latest task, the one that Go runs."""
    match request:
        case RunTask():
            return prepare_task(request)
        case Go() if requested is not None:
            return _under(request.carried) or run_task(requested)
        case CallFunction():
            return _under(request.carried) or call_function(request)
        case _:
            raise AssertionError("Go without a task")


def _under(carried: Carried) -> Raised | None:
    """Set the context variables that came along; return the error of one that cannot be set."""
    try:
        for address, pickled in carried:
            variable: ContextVar[object] = find(address)  # type: ignore[assignment]  # the worker has seen it
            value = pickle.loads(pickled)  # noqa: S301 - it comes from the worker
            variable.set(value)
            if isinstance(value, Arrives):
                value.arrive()
    except Exception as error:  # noqa: BLE001 - it is told where it can be read
        return Raised(verdict=judge(error))
    return None


def call_function(call: CallFunction) -> Answer:
    """Call a function for a handler; whatever it raises is the answer."""
    try:
        return ReturnValue(pickled=pickle.dumps(function_at(call.address)(*call.arguments, **call.named)))
    except BaseException as error:  # noqa: BLE001 - whatever a function raises belongs to the task
        return Raised(verdict=judge(error))


def prepare_task(request: RunTask) -> Answer:
    """Import a task's handler; whatever the import raises is the answer."""
    current.set((request,))
    try:
        _definition(request.address, request.task.handler, strict=request.strict)
    except BaseException as error:  # noqa: BLE001 - whatever the handler's module raises belongs to the task
        return Raised(verdict=judge(error))
    return Ready()


def run_task(request: RunTask) -> Answer:
    """Run a task's handler; whatever it raises is the answer."""
    current.set((request,))
    try:
        definition = _definition(request.address, request.task.handler, strict=request.strict)
        arguments = definition.decode(request.task.payload_json)
        result = definition.call(ProcessContext(request.task), arguments)
    except BaseException as error:  # noqa: BLE001 - whatever a handler raises belongs to its task
        return Raised(verdict=judge(error))
    if isinstance(result, NoResult):
        return NoTaskResult(outcome=result)
    if isinstance(result, BaseException):
        return Raised(verdict=judge(result))
    text, why = encode_result(result)
    if why is not None and (failure := unstored_failure(result, why, handler=request.task.handler, contract=None)):
        return Raised(verdict=judge(failure))
    return TaskResult(result_json=text)


class Wire:
    """The connection to the worker, for this process's threads: any of them may log."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._turn = threading.Lock()

    def next(self) -> Request | None:
        """Wait for a request; None when the worker has closed the connection or ended."""
        try:
            request: Request = self._connection.recv()
        except (EOFError, OSError):
            return None
        return request

    def send(self, message: Answer | logging.LogRecord) -> None:
        with self._turn:
            self._connection.send(message)

    put_nowait = send  # as a queue of the logging module has it


@cache
def _definition(address: Address, handler: str, *, strict: bool) -> HandlerDefinition[..., Any]:
    found = find(address)
    if isinstance(found, HandlerDefinition):
        return found
    function: Callable[..., Any] = found  # type: ignore[assignment]  # the worker has seen that it is one
    extra: Extra = "forbid" if strict else "ignore"
    return define(function, handler, HandlerSettings(process=True, extra=extra))


def _leave_stopping_to_the_worker() -> None:
    # A terminal or a service manager tells the whole group to stop; the worker lets its handlers finish. Not
    # SIG_IGN, which the programs that a handler starts would inherit.
    for number in heeded_signals():
        signal.signal(number, lambda *_: None)


def _log_over(wire: Wire, level: int) -> None:
    root = logging.getLogger()
    root.addHandler(QueueHandler(wire))  # type: ignore[arg-type]  # it asks for no more than `put_nowait`
    root.setLevel(level)
