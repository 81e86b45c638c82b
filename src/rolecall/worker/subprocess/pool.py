"""Runs handlers in child processes.

A process is started when a handler needs one and none is idle, and is reused. It is killed when its task must stop.
The task is reported after the process has ended, so the next task of the same key never overlaps with it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, ParamSpec, TypeVar

from rolecall.model.errors import HandlerError, InvalidDeclaration
from rolecall.model.stack_text import Place
from rolecall.sql.encoding import read_result
from rolecall.telemetry.logs import lowest_level
from rolecall.worker.program import Handler
from rolecall.worker.session import ForkGuard
from rolecall.worker.slot_thread import SlotThread
from rolecall.worker.subprocess.child import MARK
from rolecall.worker.subprocess.messages import (
    Address,
    Answer,
    CallFunction,
    Carried,
    ErrorAnswer,
    Go,
    NoTaskResult,
    Request,
    ReturnValue,
    RunTask,
    TaskResult,
    address_of,
    address_of_variable,
)
from rolecall.worker.verdicts import RaisedElsewhere

P = ParamSpec("P")
T = TypeVar("T")

DIES_WITHIN = 1.0
CLOSE_WITHIN = 3.0
ANSWERS_WITHIN = 1.0
# The worker's own path comes first, so that both import the same `rolecall`. The imported modules are never garbage.
START = """\
import gc, sys
gc.disable()
from multiprocessing.connection import Connection
connection = Connection(int(sys.argv[1]))
try:
    sys.path[:] = connection.recv()
except EOFError:
    sys.exit()  # the worker has ended
from rolecall.worker.subprocess.child import serve
gc.freeze()
gc.enable()
stacks = Connection(int(sys.argv[4]))
serve(connection, stacks, parent=int(sys.argv[2]), log_level=int(sys.argv[3]))
"""


class ProcessDied(HandlerError):
    """A handler's process ended before the handler returned. A negative exit code is the number of a signal."""

    def __init__(self, *, exit_code: int) -> None:
        super().__init__(f"the handler's process {_describe_exit(exit_code)}")
        self.exit_code = exit_code


class Processes:
    """The child processes of one worker, at most one per concurrent call.

    `carried` are the context variables whose values are copied. Raises InvalidDeclaration for a variable that a
    process could not find.
    """

    def __init__(self, fork_guard: ForkGuard, carried: Sequence[ContextVar[Any]] = ()) -> None:
        if os.environ.get(MARK) == str(os.getpid()):
            raise InvalidDeclaration(
                "a module with a process handler starts a worker when it is imported: put that under "
                "if __name__ == '__main__'"
            )
        self._fork_guard = fork_guard
        self._carried = [(variable, address_of_variable(variable)) for variable in carried]
        self._idle: list[HandlerProcess] = []
        self._busy: set[HandlerProcess] = set()
        self._started = 0

    async def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function in a process, which is killed if this call is cancelled.

        Raises RaisedElsewhere for the function's errors, ProcessDied, and InvalidDeclaration for a function that a
        process could not import.
        """
        address = address_of(function, what=f"function {function.__qualname__!r}")
        call = CallFunction(address=address, arguments=args, named=kwargs, carried=self.pickle_variables())
        async with self.lend() as child:
            answer = await child.request(call)
        match answer:
            case ReturnValue(pickled=pickled):
                # In a thread, because unpickling a large object would block the loop.
                value: T = await asyncio.to_thread(pickle.loads, pickled)
                return value
            case ErrorAnswer(verdict=verdict):
                raise RaisedElsewhere(verdict)
            case other:
                raise AssertionError(f"no answer to a call: {type(other).__name__}")

    def pickle_variables(self) -> Carried:
        """Return the variables with their values or defaults. Raises HandlerError if a value cannot be pickled."""
        taken: list[tuple[Address, bytes]] = []
        for variable, address in self._carried:
            try:
                value = variable.get()
            except LookupError:
                continue
            try:
                taken.append((address, pickle.dumps(value)))
            except Exception as error:
                problem = f"the value of context variable {variable.name!r} cannot be carried into a process"
                raise HandlerError(f"{problem}: {error}") from error
        return tuple(taken)

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[HandlerProcess]:
        """Lend an idle process, or a new one, for the block.

        The process is reused if it has answered every request. Otherwise this waits until it has ended.
        """
        child = await self._take()
        self._busy.add(child)
        try:
            yield child
        finally:
            try:
                child.task_id = None
                if child.is_idle:
                    self._idle.append(child)
                else:
                    await child.end()
            finally:
                self._busy.remove(child)

    def process_of(self, task_id: int) -> HandlerProcess | None:
        """Return the process that runs a task's handler. Can be called from any thread."""
        return next((child for child in tuple(self._busy) if child.task_id == task_id), None)

    async def close(self) -> None:
        for child in self._busy:
            child.kill()
        if self._idle:
            await asyncio.wait([asyncio.create_task(child.end()) for child in self._idle], timeout=CLOSE_WITHIN)

    async def _take(self) -> HandlerProcess:
        while self._idle:
            child = self._idle.pop()
            if child.is_alive:
                return child
            await child.end()
        self._started += 1
        return HandlerProcess(f"rolecall-process-{self._started}", self._fork_guard)


class HandlerProcess:
    """One process and the thread that starts it, sends requests and waits for answers or for its end.

    The kernel kills the process when that thread ends, so the thread lives as long as the process.
    """

    def __init__(self, name: str, fork_guard: ForkGuard) -> None:
        self._name = name
        self._thread = SlotThread(name, fork_guard)
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._stacks: Connection | None = None
        self._stack_requests = 0
        self.task_id: int | None = None
        self._is_killed = False
        self._has_request = False

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def is_idle(self) -> bool:
        return not (self._has_request or self._is_killed)

    async def request(self, request: Request) -> Answer:
        self._has_request = True
        running = asyncio.ensure_future(self._thread.call(self._run, request))
        running.add_done_callback(_note_error)
        try:
            answer = await asyncio.shield(running)
        except asyncio.CancelledError:
            self.kill()
            raise
        self._has_request = False
        return answer

    def places(self) -> list[Place] | None:
        """Return the places of the calls that run in the process, outermost first; None if it does not answer.

        Can be called from any thread, but only from one at a time.
        """
        if self._stacks is None:
            return None
        self._stack_requests += 1
        try:
            self._stacks.send(self._stack_requests)
            while self._stacks.poll(ANSWERS_WITHIN):
                number, places = self._stacks.recv()
                if number == self._stack_requests:  # not the late answer to an earlier request
                    found: list[Place] = places
                    return found
        except (EOFError, OSError):  # the process has ended
            pass
        return None

    def kill(self) -> None:
        """Kill the process now, or as soon as it has started."""
        self._is_killed = True
        if self._process is not None:
            self._process.kill()

    async def end(self) -> None:
        try:
            await self._thread.call(self._end)
        finally:
            self._thread.stop()

    def _run(self, request: Request) -> Answer:
        try:
            connection = self._connection or self._start()
            connection.send(request)
            return _answer(connection)
        except (EOFError, OSError):
            if self._process is None:
                raise
            raise ProcessDied(exit_code=_exit_code(self._process)) from None

    def _start(self) -> Connection:
        ours, theirs = Pipe()
        self._stacks, their_stacks = Pipe()
        descriptors = [theirs.fileno(), their_stacks.fileno()]
        arguments = [theirs.fileno(), os.getpid(), lowest_level(), their_stacks.fileno(), self._name]
        command = [sys.executable, "-c", START, *map(str, arguments)]
        with theirs, their_stacks:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=descriptors)
        self._connection = ours
        if self._is_killed:
            self._process.kill()
        ours.send(sys.path)
        return ours

    def _end(self) -> None:
        for connection in (self._connection, self._stacks):
            if connection is not None:
                connection.close()
        if self._process is not None:
            _exit_code(self._process)


class InProcess:
    """Runs a handler's function in a child process."""

    def __init__(self, handler: Handler, processes: Processes) -> None:
        self._address = address_of(handler.function, what=f"handler {handler.name!r}")
        self._strict = handler.strict
        self._processes = processes

    async def prepare(self, process: HandlerProcess, context: Any) -> None:
        request = RunTask(
            address=self._address,
            task=context.task,
            worker_id=context.worker_id,
            strict=self._strict,
            carried=self._processes.pickle_variables(),
        )
        process.task_id = context.task.id
        answer = await process.request(request)
        if isinstance(answer, ErrorAnswer):
            raise RaisedElsewhere(answer.verdict)

    async def call(self, _context: object, process: HandlerProcess) -> Any:
        match await process.request(Go(carried=self._processes.pickle_variables())):
            case TaskResult(result_json=text):
                return read_result(text)
            case NoTaskResult(outcome=outcome):
                return outcome
            case ErrorAnswer(verdict=verdict):
                raise RaisedElsewhere(verdict)
            case other:
                raise AssertionError(f"no answer to a call: {type(other).__name__}")


def _answer(connection: Connection) -> Answer:
    while isinstance(message := connection.recv(), logging.LogRecord):
        logger = logging.getLogger(message.name)
        if logger.isEnabledFor(message.levelno):
            logger.handle(message)
    answer: Answer = message
    return answer


def _exit_code(process: subprocess.Popen[bytes]) -> int:
    try:
        return process.wait(DIES_WITHIN)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _note_error(running: asyncio.Future[Answer]) -> None:
    # After a cancellation, the result is not awaited; asyncio would log an error that was never retrieved.
    if not running.cancelled():
        running.exception()


def _describe_exit(exit_code: int) -> str:
    if exit_code >= 0:
        return f"exited with code {exit_code}"
    try:
        return f"was killed by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"was killed by signal {-exit_code}"
