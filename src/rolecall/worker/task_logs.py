"""Stores the log lines of attempts with their tasks.

    handler ──► logging ──► TaskLogs ──► AttemptLog: first lines and last lines ──► one statement per second

Every record that is logged in the context of an attempt belongs to its task (`rolecall.telemetry.context`). Rolecall's
own records do not, except those of `ctx.log`. A task that logs nothing causes no work here. Lines may be lost, such as
when the process is killed; that never affects the outcome of a task.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from rolecall.model.errors import RolecallError
from rolecall.model.operator.logs import NUMBERS, LogLevel
from rolecall.model.redaction import redact_text
from rolecall.sql import logs
from rolecall.telemetry.context import current
from rolecall.transport.waker import Waker
from rolecall.worker.in_flight import HeldTask
from rolecall.worker.session import DatabaseSession

WRITE_EVERY = 1.0
FIRST_LINES, LAST_LINES = 800, 200
FIRST_BYTES, LAST_BYTES = 192_000, 64_000
LONGEST_LINE = 4_000
# Lines beyond this are not stored, such as while the database is away.
MOST_UNWRITTEN_BYTES = 8_000_000
LAST_PART = 2**31 - 1
PACKAGE = "rolecall"
OWN = frozenset({"rolecall.task", "rolecall.stdout"})
STDOUT = "rolecall.stdout"

SecretsIn = Callable[[str], Iterable[str]]
log = logging.getLogger("rolecall.worker")
_formatter = logging.Formatter()


class AttemptLog:
    """The lines of one attempt that are not written yet, and its last lines.

    The first lines are written once. The later ones replace each other, so that only the last ones remain.
    """

    __slots__ = ("_first", "_has_later", "_last", "_last_bytes", "_number", "_room", "secrets")

    def __init__(self, secrets: Iterable[str]) -> None:
        self.secrets = tuple(secrets)
        self._number = 0
        self._room = FIRST_BYTES
        self._first: list[list[Any]] = []
        self._last: deque[list[Any]] = deque()
        self._last_bytes = 0
        self._has_later = False

    def skip(self) -> None:
        """Count a line that is not stored."""
        self._number += 1

    def add(self, at: float, level: int, logger: str, message: str) -> None:
        self._number += 1
        line = [self._number, at, level, logger, message]
        if self._number <= FIRST_LINES and len(message) <= self._room:
            self._room -= len(message)
            self._first.append(line)
            return
        self._room = 0
        self._last.append(line)
        self._last_bytes += len(message)
        while len(self._last) > LAST_LINES or self._last_bytes > LAST_BYTES:
            self._last_bytes -= len(self._last.popleft()[-1])
        self._has_later = True

    def take_parts(self) -> Iterator[tuple[int, list[list[Any]]]]:
        """Return the parts to write next."""
        if self._first:
            yield self._first[0][0], self._first
            self._first = []
        if self._has_later:
            yield LAST_PART, list(self._last)
            self._has_later = False


class TaskLogs(logging.Handler):
    """The logging handler of a worker for its attempts. Records of other workers in the process are ignored."""

    def __init__(
        self,
        session: DatabaseSession,
        level: LogLevel,
        levels: Mapping[str, LogLevel],
        secrets: Mapping[str, SecretsIn],
    ) -> None:
        super().__init__()
        self._session = session
        self._is_on = level != "off"
        self._lowest = NUMBERS[level]
        self._levels = {handler: NUMBERS[its_level] for handler, its_level in levels.items()}
        # Lower records do not reach this handler. Warnings do, because of `_print_as_before`.
        self.setLevel(min(logging.WARNING, self._lowest, *self._levels.values()))
        self._secrets = secrets
        self._attempts: dict[HeldTask, AttemptLog] = {}
        self._unwritten_bytes = 0
        self._waker = Waker()
        self._is_due = False
        self._loop = asyncio.get_running_loop()

    def attach(self) -> None:
        """Receive the records of all loggers, and the lines that handlers in child processes print."""
        if self._is_on:
            logging.getLogger().addHandler(self)
            printed = logging.getLogger(STDOUT)
            printed.propagate = False
            printed.setLevel(logging.INFO)
            printed.addHandler(self)

    def detach(self) -> None:
        logging.getLogger().removeHandler(self)
        logging.getLogger(STDOUT).removeHandler(self)

    async def run(self) -> None:
        """Write lines soon after they appear, at most once per second."""
        while True:
            await self._waker.wait()
            await self.write()
            await asyncio.sleep(WRITE_EVERY)

    async def write(self) -> None:
        """Write the lines of all attempts in one statement. Errors are logged."""
        if parts := self._take_parts():
            try:
                await self._session.run(logs.write(parts))
            except RolecallError as error:
                log.warning("Log lines of %d attempts were not stored: %s", len(parts), error)

    def emit(self, record: logging.LogRecord) -> None:
        """Add a record to the attempt in whose context it was logged; in a batch, to all that it concerns."""
        self._print_as_before(record)
        at_work = current.get()
        if not at_work or _is_ours(record.name):
            return
        task_id = getattr(record, "task", None)
        message = None
        for held in at_work:
            if not isinstance(held, HeldTask) or getattr(held.slot, "logs", None) is not self or held.has_ended:
                continue
            if record.levelno < self._levels.get(held.task.handler, self._lowest):
                continue
            if task_id is None or len(at_work) == 1 or held.task.id == task_id:
                message = _message_of(record) if message is None else message
                self._add(held, record, message)

    def _add(self, held: HeldTask, record: logging.LogRecord, message: str) -> None:
        attempt = self._attempts.get(held)
        if attempt is None:
            secrets_in = self._secrets.get(held.task.handler)
            secrets = secrets_in(held.task.payload_json) if secrets_in else ()
            attempt = self._attempts[held] = AttemptLog(secrets)
        if self._unwritten_bytes > MOST_UNWRITTEN_BYTES:
            attempt.skip()
            return
        text = _shortened(redact_text(attempt.secrets, message))
        self._unwritten_bytes += len(text)
        attempt.add(record.created, record.levelno, record.name, text)
        if not self._is_due:
            self._is_due = True
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._waker.nudge)

    def _take_parts(self) -> list[dict[str, Any]]:
        self.acquire()
        try:
            self._is_due = False
            self._unwritten_bytes = 0
            parts = [
                {
                    "task_id": held.task.id,
                    "fence": held.task.fence,
                    "attempt": held.task.attempt,
                    "part": part,
                    "lines": lines,
                }
                for held, attempt in self._attempts.items()
                for part, lines in attempt.take_parts()
            ]
            for held in [held for held in self._attempts if held.has_ended]:
                del self._attempts[held]
            return parts
        finally:
            self.release()

    def _print_as_before(self, record: logging.LogRecord) -> None:
        """Print a warning as Python does if there are no other handlers."""
        last_resort = logging.lastResort
        if last_resort is None or record.levelno < last_resort.level or logging.root.handlers[:1] != [self]:
            return
        if all(isinstance(handler, TaskLogs) for handler in _handlers_of(record.name)):
            last_resort.handle(record)


def _handlers_of(name: str) -> Iterator[logging.Handler]:
    logger: logging.Logger | None = logging.getLogger(name)
    while logger is not None:
        yield from logger.handlers
        logger = logger.parent if logger.propagate else None


def _is_ours(name: str) -> bool:
    return name not in OWN and (name == PACKAGE or name.startswith(f"{PACKAGE}."))


def _message_of(record: logging.LogRecord) -> str:
    message = record.getMessage()
    if record.exc_info:
        message = f"{message}\n{_formatter.formatException(record.exc_info)}"
    return message.replace("\0", "\ufffd").encode(errors="replace").decode()


def _shortened(text: str) -> str:
    if len(text) <= LONGEST_LINE and len(text.encode()) <= LONGEST_LINE:
        return text
    return f"{text.encode()[:LONGEST_LINE].decode(errors='ignore')} ..."
