"""The one tree of errors, and the one table that ties it to SQLSTATEs and exit codes.

RolecallError                      every error raised on purpose; .problem says what is wrong
├── TaskError                      about one task
│   ├── TaskNotFound               RC002  .task_id
│   ├── InvalidTask                RC040  .index: it cannot be stored as it is
│   ├── LeaseLost                         .task_id .reason: a newer claim or a person decided otherwise
│   ├── TaskNotRetryable                  .task_id .outcome
│   └── WaitTimeout                       .task_id .seconds: it did not finish in time
├── RoleError
│   └── UnknownRole                RC031
├── WorkerError
│   ├── UnknownWorker              RC030
│   └── InvalidReport              RC042
├── ScheduleError
│   ├── ScheduleNotFound           RC020
│   └── InvalidSchedule            RC021
├── HandlerError
│   ├── InvalidDeclaration         RC041  a handler or role that cannot be what it says
│   ├── InvalidPayload                    .handler: the payload does not fit the handler's signature
│   ├── HandlerMissing                    .handler
│   ├── HandlerTimeout                    .after (seconds)
│   ├── HandlerAborted                    .reason (LostReason)
│   └── PermanentFailure                  raised by a handler: no retry would help
├── DatabaseError                         .sqlstate
│   ├── DatabaseUnavailable               worth retrying: no connection, a restart, a lock timeout, a deadlock
│   ├── SchemaMissing                     .package .pending: run the migrations first
│   ├── SchemaTooNew                      .package .known .found: run a newer release
│   ├── SchemaDrift                       .package .migration: an applied file was edited
│   └── WrongIsolation             RC050
└── ConfigError                           .variable .value
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rolecall.model.states import LostReason

__all__ = [
    "ERROR_TABLE",
    "ConfigError",
    "DatabaseError",
    "DatabaseUnavailable",
    "ErrorRow",
    "HandlerAborted",
    "HandlerError",
    "HandlerMissing",
    "HandlerTimeout",
    "InvalidDeclaration",
    "InvalidPayload",
    "InvalidReport",
    "InvalidSchedule",
    "InvalidTask",
    "LeaseLost",
    "PermanentFailure",
    "RoleError",
    "RolecallError",
    "ScheduleError",
    "ScheduleNotFound",
    "SchemaDrift",
    "SchemaMissing",
    "SchemaTooNew",
    "TaskError",
    "TaskNotFound",
    "TaskNotRetryable",
    "UnknownRole",
    "UnknownWorker",
    "WaitTimeout",
    "WorkerError",
    "WrongIsolation",
    "error_for_sqlstate",
    "exit_code_for",
]


class RolecallError(Exception):
    """The root of every error that Rolecall raises on purpose."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


class TaskError(RolecallError):
    """Something about one task."""


class TaskNotFound(TaskError):
    """No task, open or finished, has this id."""

    def __init__(self, problem: str = "", *, task_id: int | None = None) -> None:
        super().__init__(problem or f"there is no task {task_id}")
        self.task_id = task_id


class InvalidTask(TaskError):
    """The task cannot be stored as it is; `index` is its place in the batch, where known."""

    def __init__(self, problem: str, *, index: int | None = None) -> None:
        super().__init__(problem if index is None else f"task {index}: {problem}")
        self.index = index
        self.detail = problem

    def moved_by(self, offset: int) -> InvalidTask:
        """Return the same error for a batch that stands `offset` places further on."""
        return InvalidTask(self.detail, index=None if self.index is None else self.index + offset)


class LeaseLost(TaskError):
    """A claim no longer owns its task."""

    def __init__(self, *, task_id: int, reason: str) -> None:
        super().__init__(f"the claim on task {task_id} is lost: {reason}")
        self.task_id = task_id
        self.reason = reason


class TaskNotRetryable(TaskError):
    """The task cannot be put back: it is still open, it completed, or a newer one stands for it."""

    def __init__(self, *, task_id: int, outcome: str) -> None:
        super().__init__(f"task {task_id} cannot be retried: {outcome}")
        self.task_id = task_id
        self.outcome = outcome


class WaitTimeout(TaskError):
    """The task did not finish within the time that the caller was ready to wait."""

    def __init__(self, *, task_id: int, seconds: float) -> None:
        super().__init__(f"task {task_id} did not finish within {seconds:g} s")
        self.task_id = task_id
        self.seconds = seconds


class RoleError(RolecallError):
    """Something about a role."""


class UnknownRole(RoleError):
    """A task names a role that nobody declared."""


class WorkerError(RolecallError):
    """Something about a worker's registration."""


class UnknownWorker(WorkerError):
    """The roll call does not know this worker (any more); it must register again."""


class InvalidReport(WorkerError):
    """A worker reported an outcome that the engine does not know."""


class ScheduleError(RolecallError):
    """Something about a schedule."""


class ScheduleNotFound(ScheduleError):
    """No schedule has this name."""


class InvalidSchedule(ScheduleError):
    """The schedule cannot be stored as it is."""


class HandlerError(RolecallError):
    """Something about the code that does a task."""


class InvalidDeclaration(HandlerError):
    """A handler, role or schedule is declared in a way that cannot work."""


class InvalidPayload(HandlerError):
    """The payload does not fit the handler's signature."""

    def __init__(self, problem: str, *, handler: str) -> None:
        super().__init__(f"payload of {handler!r}: {problem}")
        self.handler = handler


class HandlerMissing(HandlerError):
    """No handler of this name is known here."""

    def __init__(self, *, handler: str) -> None:
        super().__init__(f"no handler is called {handler!r} here")
        self.handler = handler


class HandlerTimeout(HandlerError):
    """The handler ran longer than its timeout."""

    def __init__(self, *, after: float) -> None:
        super().__init__(f"the handler did not finish within {after:g} s")
        self.after = after


class HandlerAborted(HandlerError):
    """The handler must stop: its task is no longer its own."""

    def __init__(self, *, reason: LostReason) -> None:
        super().__init__(f"the handler must stop: {reason}")
        self.reason = reason


class PermanentFailure(HandlerError):
    """For handlers to raise: the task fails at once, because no retry would help."""


class DatabaseError(RolecallError):
    """The database refused or could not answer; the driver's error is the cause."""

    def __init__(self, problem: str, *, sqlstate: str | None = None) -> None:
        super().__init__(problem)
        self.sqlstate = sqlstate


class DatabaseUnavailable(DatabaseError):
    """The database cannot answer now; the same call may succeed later. Whether it took effect is unknown."""


class SchemaMissing(DatabaseError):
    """The database lacks tables or functions that this release needs."""

    def __init__(
        self,
        problem: str = "",
        *,
        package: str = "rolecall",
        pending: Sequence[str] = (),
        sqlstate: str | None = None,
    ) -> None:
        missing = f" ({', '.join(pending)})" if pending else ""
        super().__init__(
            problem or f"the database lacks the schema of {package}{missing}: run its migrations",
            sqlstate=sqlstate,
        )
        self.package = package
        self.pending = tuple(pending)


class SchemaTooNew(DatabaseError):
    """The database was migrated by a newer release than this one."""

    def __init__(self, *, package: str, known: int, found: int) -> None:
        super().__init__(f"the database has version {found} of {package}, but this release knows only {known}")
        self.package = package
        self.known = known
        self.found = found


class SchemaDrift(DatabaseError):
    """A migration that was applied differs from the file of this release."""

    def __init__(self, *, package: str, migration: str) -> None:
        super().__init__(f"migration {migration} of {package} was edited after it had been applied")
        self.package = package
        self.migration = migration


class WrongIsolation(DatabaseError):
    """The engine's functions run under READ COMMITTED only."""


class ConfigError(RolecallError):
    """A setting cannot be used."""

    def __init__(self, problem: str, *, variable: str, value: object = None) -> None:
        super().__init__(f"{variable}: {problem}")
        self.variable = variable
        self.value = value


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRow:
    """One line of the table: an error, its exit code, and the SQLSTATEs that stand for it."""

    error: type[RolecallError]
    exit_code: int
    sqlstates: tuple[str, ...] = ()


# Bad JSON, text, numbers and dates are bad tasks, whichever cast inside the engine met them first.
_BAD_VALUES = ("22P02", "22P05", "22003", "22007", "22008", "22021", "22023")
_NO_SCHEMA = ("3F000", "42P01", "42883")

# The most specific first: the first row whose class fits decides.
ERROR_TABLE: tuple[ErrorRow, ...] = (
    ErrorRow(error=TaskNotFound, exit_code=4, sqlstates=("RC002",)),
    ErrorRow(error=InvalidTask, exit_code=2, sqlstates=("RC040", *_BAD_VALUES)),
    ErrorRow(error=LeaseLost, exit_code=5),
    ErrorRow(error=TaskNotRetryable, exit_code=5),
    ErrorRow(error=WaitTimeout, exit_code=8),
    ErrorRow(error=TaskError, exit_code=1),
    ErrorRow(error=UnknownRole, exit_code=4, sqlstates=("RC031",)),
    ErrorRow(error=RoleError, exit_code=1),
    ErrorRow(error=UnknownWorker, exit_code=4, sqlstates=("RC030",)),
    ErrorRow(error=InvalidReport, exit_code=2, sqlstates=("RC042",)),
    ErrorRow(error=WorkerError, exit_code=1),
    ErrorRow(error=ScheduleNotFound, exit_code=4, sqlstates=("RC020",)),
    ErrorRow(error=InvalidSchedule, exit_code=2, sqlstates=("RC021",)),
    ErrorRow(error=ScheduleError, exit_code=1),
    ErrorRow(error=InvalidDeclaration, exit_code=2, sqlstates=("RC041",)),
    ErrorRow(error=InvalidPayload, exit_code=2),
    ErrorRow(error=HandlerMissing, exit_code=4),
    ErrorRow(error=HandlerTimeout, exit_code=8),
    ErrorRow(error=HandlerAborted, exit_code=5),
    ErrorRow(error=PermanentFailure, exit_code=1),
    ErrorRow(error=HandlerError, exit_code=1),
    ErrorRow(error=DatabaseUnavailable, exit_code=6),
    ErrorRow(error=SchemaMissing, exit_code=7, sqlstates=_NO_SCHEMA),
    ErrorRow(error=SchemaTooNew, exit_code=7),
    ErrorRow(error=SchemaDrift, exit_code=7),
    ErrorRow(error=WrongIsolation, exit_code=2, sqlstates=("RC050",)),
    ErrorRow(error=DatabaseError, exit_code=6),
    ErrorRow(error=ConfigError, exit_code=2),
    ErrorRow(error=RolecallError, exit_code=1),
)

_BY_SQLSTATE = {sqlstate: row.error for row in ERROR_TABLE for sqlstate in row.sqlstates}


def error_for_sqlstate(sqlstate: str | None, problem: str) -> RolecallError | None:
    """Build the error that a SQLSTATE stands for; None if the table does not name it."""
    error = _BY_SQLSTATE.get(sqlstate or "")
    return error(problem) if error else None


def exit_code_for(error: RolecallError) -> int:
    """Return the exit code with which a command ends on this error."""
    return next(row.exit_code for row in ERROR_TABLE if isinstance(error, row.error))
