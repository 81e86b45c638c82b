"""The child process that runs process handlers, and functions passed to `ctx.in_process`, one at a time.

    worker                                           this process
    Processes ──▶ HandlerProcess ─────RunTask─────▶ serve ──▶ import the handler
                       ▲   start is recorded ◀─Ready─┘
                       │  └───────────Go───────────▶ serve ──call──▶ handler
                       └──────log records, Answer─────┘◀───────────────┘

The attempt starts with Go, after its start is recorded. If the worker dies while this process is still importing,
no attempt is spent. The result or error of a task is returned as text, the result of a function as a pickled
object. This process does not write to the database.
"""

from __future__ import annotations

import logging
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache, partial
from logging.handlers import QueueHandler
from multiprocessing.connection import Connection
from typing import Any, TextIO

from rolecall.app.handlers import Extra, HandlerDefinition, HandlerSettings, define
from rolecall.model.error_text import Scrub
from rolecall.model.outcomes import NoResult
from rolecall.model.redaction import redact_text
from rolecall.model.stack_text import frames_since, places_of
from rolecall.sql.encoding import encode_result
from rolecall.telemetry.context import current
from rolecall.telemetry.tracing import Arrives
from rolecall.worker.in_flight import fresh_context
from rolecall.worker.outcomes import require_awaited, unstored_failure
from rolecall.worker.session import ForkGuard
from rolecall.worker.signals import end_with_parent, handled_signals
from rolecall.worker.subprocess.context import ProcessContext
from rolecall.worker.subprocess.messages import (
    Address,
    Answer,
    CallFunction,
    ErrorAnswer,
    Go,
    NoTaskResult,
    Ready,
    Request,
    ReturnValue,
    RunTask,
    TaskResult,
    find,
    function_at,
)
from rolecall.worker.verdicts import judge

MARK = "ROLECALL_PROCESS"
PRINTED = "rolecall.stdout"
LONGEST_REST = 4_096
STACK_THREAD = "rolecall-stacks"
# The functions whose modules are imported.
IMPORTED: set[Address] = set()
Variables = list[tuple[Any, object]]


def serve(connection: Connection, stacks: Connection, *, parent: int, log_level: int) -> None:
    os.environ[MARK] = str(os.getpid())
    del sys.argv[1:]
    end_with_parent(parent)
    _leave_stopping_to_the_worker()
    fork_guard = ForkGuard()
    threading.Thread(target=_report_stacks, args=(stacks,), name=STACK_THREAD, daemon=True).start()
    wire = Wire(connection)
    _log_over(wire, log_level)
    printed = Printed(sys.stdout, wire)
    sys.stdout = printed
    requested: RunTask | None = None
    while (request := wire.next()) is not None:
        if isinstance(request, RunTask):
            requested = request
        reply = answer(request, requested)
        printed.send_rest()
        fork_guard.require()
        wire.send(reply)


def answer(request: Request, requested: RunTask | None) -> Answer:
    """Execute a request in its own context, with the context variables of the request. Errors are returned.

    A `RunTask` is only prepared; `requested` is the latest one, which `Go` runs.
    """
    try:
        carried = [(find(address), pickle.loads(pickled)) for address, pickled in request.carried]  # noqa: S301 - they come from the worker
        if not isinstance(request, Go) and request.address not in IMPORTED:
            _import(request.address, carried)
    except BaseException as error:  # noqa: BLE001 - an import runs the user's code
        return ErrorAnswer(verdict=judge(error))
    if isinstance(request, RunTask):
        return Ready()
    return fresh_context().run(_run, request, requested, carried)


def _import(address: Address, carried: Variables) -> None:
    """Import a handler's module in the context of the process, so that what it sets there applies to every request.

    The carried values are set up first, in a context of their own: the import may depend on them, as with Django.
    """
    fresh_context().run(_accept, carried)
    find(address)
    IMPORTED.add(address)


def _run(request: Go | CallFunction, requested: RunTask | None, carried: Variables) -> Answer:
    try:
        _accept(carried)
    except Exception as error:  # noqa: BLE001 - it is reported to the worker
        return ErrorAnswer(verdict=judge(error))
    if isinstance(request, CallFunction):
        return call_function(request)
    if requested is None:
        raise AssertionError("Go without a task")
    return run_task(requested)


def _accept(carried: Variables) -> None:
    for variable, value in carried:
        variable.set(value)
        if isinstance(value, Arrives):
            value.arrive()


def call_function(call: CallFunction) -> Answer:
    try:
        return ReturnValue(pickled=pickle.dumps(function_at(call.address)(*call.arguments, **call.named)))
    except BaseException as error:  # noqa: BLE001 - whatever a function raises belongs to the task
        return ErrorAnswer(verdict=judge(error))


def run_task(request: RunTask) -> Answer:
    current.set((request,))
    scrub: Scrub = str
    try:
        definition = _definition(request.address, request.task.handler, strict=request.strict)
        if definition.hides:
            scrub = partial(_without_secrets, definition, request.task.payload_json)
        arguments = definition.decode(request.task.payload_json)
        result = definition.call(ProcessContext(request.task), arguments)
        if definition.returns is not None and not isinstance(result, NoResult | BaseException):
            require_awaited(result, request.task.handler)
            result = definition.returns.write(result)
    except BaseException as error:  # noqa: BLE001 - whatever a handler raises belongs to its task
        return ErrorAnswer(verdict=judge(error, scrub))
    if isinstance(result, NoResult):
        return NoTaskResult(outcome=result)
    if isinstance(result, BaseException):
        return ErrorAnswer(verdict=judge(result, scrub))
    text, why = encode_result(result)
    if why is not None and (failure := unstored_failure(result, why, handler=request.task.handler, contract=None)):
        return ErrorAnswer(verdict=judge(failure))
    return TaskResult(result_json=text)


def _without_secrets(definition: HandlerDefinition[..., Any], payload_json: str | bytes, text: str) -> str:
    return redact_text(definition.secrets_in(payload_json), text)


class Wire:
    """The connection to the worker. Can be used by several threads, because any of them may log."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._turn = threading.Lock()

    def next(self) -> Request | None:
        try:
            request: Request = self._connection.recv()
        except (EOFError, OSError):
            return None
        return request

    def send(self, message: Answer | logging.LogRecord) -> None:
        with self._turn:
            self._connection.send(message)

    put_nowait = send  # the interface that QueueHandler expects


class Printed:
    """Standard output. The lines that a handler prints are also sent to the worker, as log records."""

    def __init__(self, stream: TextIO, wire: Wire) -> None:
        self._stream = stream
        self._wire = wire
        self._rest = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        written = self._stream.write(text)
        if current.get():
            *lines, self._rest = (self._rest + text).split("\n")
            for line in lines:
                self._send(line)
            if len(self._rest) > LONGEST_REST:
                self.send_rest()
        return written

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def send_rest(self) -> None:
        """Send the last line of a call, which may have no end."""
        self._stream.flush()
        if self._rest:
            rest, self._rest = self._rest, ""
            self._send(rest)

    def _send(self, line: str) -> None:
        self._wire.send(logging.makeLogRecord({"name": PRINTED, "levelno": logging.INFO, "msg": line}))


@cache
def _definition(address: Address, handler: str, *, strict: bool) -> HandlerDefinition[..., Any]:
    found = find(address)
    if isinstance(found, HandlerDefinition):
        return found
    function: Callable[..., Any] = found  # type: ignore[assignment]  # the worker has seen that it is one
    extra: Extra = "forbid" if strict else "ignore"
    return define(function, handler, HandlerSettings(process=True, extra=extra))


def _report_stacks(connection: Connection) -> None:
    """Answer each request of the worker, which is a number, with the calls of the main thread."""
    main_thread = threading.main_thread().ident or 0
    with suppress(EOFError, OSError):  # the worker has ended
        while True:
            number = connection.recv()
            frame = sys._current_frames().get(main_thread)  # noqa: SLF001 - the documented way to see another thread
            connection.send((number, places_of(frames_since(frame, __file__))))


def _leave_stopping_to_the_worker() -> None:
    # A terminal or service manager signals the whole process group, but the worker lets its handlers finish. Not
    # SIG_IGN, which programs started by a handler would inherit.
    for number in handled_signals():
        signal.signal(number, lambda *_: None)


def _log_over(wire: Wire, level: int) -> None:
    root = logging.getLogger()
    root.addHandler(QueueHandler(wire))  # type: ignore[arg-type]  # it asks for no more than `put_nowait`
    root.setLevel(level)
