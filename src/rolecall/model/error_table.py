"""The table that maps errors to SQLSTATEs, exit codes and HTTP statuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rolecall.model.errors import (
    AccessError,
    AlreadyCompleted,
    ApiKeyNotFound,
    BulkActionNotFound,
    ChainError,
    ChainFinished,
    ChainLonger,
    ChainNeeded,
    ChainNotFound,
    ClusterMissing,
    ClusterRefused,
    ClusterUnavailable,
    ConfigError,
    ContractBroken,
    DatabaseError,
    DatabaseReadOnly,
    DatabaseUnavailable,
    DuplicatePerson,
    DuplicateTask,
    DuplicateView,
    ErrorGroupNotFound,
    FilterError,
    HandlerAborted,
    HandlerError,
    HandlerMissing,
    HandlerNotFound,
    HandlerTimeout,
    InvalidCursor,
    InvalidDeclaration,
    InvalidPayload,
    InvalidReport,
    InvalidSchedule,
    InvalidTask,
    InvalidToken,
    LeaseLost,
    MigrationFailed,
    NeedsCircle,
    NoFilter,
    NotAllowed,
    NotAuthenticated,
    NotTheOwner,
    ParentNotOpen,
    PayloadMissing,
    PermanentFailure,
    PersonNotFound,
    ReplicasOutOfBounds,
    RequestError,
    RequestKeyReused,
    RequestUnderWay,
    ResultMissing,
    ResultNotStored,
    ResultUnreadable,
    Retry,
    RolecallError,
    RoleError,
    RoleNotFound,
    RowsBusy,
    ScalingError,
    ScheduleChanged,
    ScheduleConflict,
    ScheduleError,
    ScheduleNotFound,
    SchemaBusy,
    SchemaDrift,
    SchemaMissing,
    SchemaTooNew,
    SessionNotFound,
    TaskError,
    TaskFinished,
    TaskNotFound,
    TaskNotRetryable,
    TaskNotTriggerable,
    TooManyRequests,
    TooManyWatchers,
    UnknownRole,
    UnknownWorker,
    ViewNotFound,
    WaitTimeout,
    WorkerError,
    WorkloadNotFound,
    WrongIsolation,
)
from rolecall.model.sqlstates import READ_ONLY


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRow:
    """An error class with its exit code, HTTP status, SQLSTATEs, and the names of the ids in the database's detail."""

    error: type[RolecallError]
    exit_code: int
    http_status: int
    sqlstates: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()


# Invalid JSON, text, numbers and dates mean an invalid task, wherever the engine's casts find them.
_BAD_VALUES = ("22P02", "22P05", "22003", "22007", "22008", "22009", "22021", "22023")
_NO_SCHEMA = ("3F000", "42P01", "42883")

# The most specific first: the first row whose class matches is used.
ERROR_TABLE: tuple[ErrorRow, ...] = (
    ErrorRow(error=TaskNotFound, exit_code=4, http_status=404, sqlstates=("RC002",), ids=("task_id",)),
    ErrorRow(error=InvalidTask, exit_code=2, http_status=422, sqlstates=("RC040", *_BAD_VALUES)),
    ErrorRow(error=DuplicateTask, exit_code=5, http_status=409, sqlstates=("RC045",), ids=("task_id",)),
    ErrorRow(error=NeedsCircle, exit_code=2, http_status=422, sqlstates=("RC043",)),
    ErrorRow(error=ParentNotOpen, exit_code=2, http_status=422, sqlstates=("RC044",)),
    ErrorRow(error=LeaseLost, exit_code=5, http_status=409),
    ErrorRow(error=TaskNotRetryable, exit_code=5, http_status=409),
    ErrorRow(error=TaskFinished, exit_code=5, http_status=409),
    ErrorRow(error=TaskNotTriggerable, exit_code=5, http_status=409, sqlstates=("RC003",), ids=("task_id",)),
    ErrorRow(error=InvalidToken, exit_code=4, http_status=404, sqlstates=("RC004",)),
    ErrorRow(error=WaitTimeout, exit_code=8, http_status=504),
    ErrorRow(error=TaskError, exit_code=1, http_status=500),
    ErrorRow(error=ChainNotFound, exit_code=4, http_status=404, sqlstates=("RC006",), ids=("chain_id",)),
    ErrorRow(error=ChainNeeded, exit_code=5, http_status=409, sqlstates=("RC005",), ids=("chain_id", "task_id")),
    ErrorRow(error=ChainLonger, exit_code=5, http_status=409, sqlstates=("RC007",), ids=("chain_id", "task_id")),
    ErrorRow(error=ChainFinished, exit_code=5, http_status=409),
    ErrorRow(error=ChainError, exit_code=1, http_status=500),
    ErrorRow(error=RoleNotFound, exit_code=4, http_status=404),
    ErrorRow(error=UnknownRole, exit_code=4, http_status=422, sqlstates=("RC031",)),
    ErrorRow(error=RoleError, exit_code=1, http_status=500),
    ErrorRow(error=UnknownWorker, exit_code=4, http_status=404, sqlstates=("RC030",)),
    ErrorRow(error=InvalidReport, exit_code=2, http_status=422, sqlstates=("RC042",)),
    ErrorRow(error=WorkerError, exit_code=1, http_status=500),
    ErrorRow(error=ScheduleNotFound, exit_code=4, http_status=404, sqlstates=("RC020",)),
    ErrorRow(error=InvalidSchedule, exit_code=2, http_status=422, sqlstates=("RC021",)),
    ErrorRow(error=ScheduleConflict, exit_code=5, http_status=409, sqlstates=("RC022",)),
    ErrorRow(error=ScheduleChanged, exit_code=5, http_status=412, sqlstates=("RC023",)),
    ErrorRow(error=ScheduleError, exit_code=1, http_status=500),
    ErrorRow(error=InvalidDeclaration, exit_code=2, http_status=422, sqlstates=("RC041",)),
    ErrorRow(error=InvalidPayload, exit_code=2, http_status=422),
    ErrorRow(error=HandlerMissing, exit_code=4, http_status=422),
    ErrorRow(error=ErrorGroupNotFound, exit_code=4, http_status=404, ids=("group_id",)),
    ErrorRow(error=BulkActionNotFound, exit_code=4, http_status=404, ids=("bulk_action_id",)),
    ErrorRow(error=ViewNotFound, exit_code=4, http_status=404),
    ErrorRow(error=DuplicateView, exit_code=5, http_status=409),
    ErrorRow(error=HandlerNotFound, exit_code=4, http_status=404),
    ErrorRow(error=ContractBroken, exit_code=2, http_status=422),
    ErrorRow(error=HandlerTimeout, exit_code=8, http_status=500),
    ErrorRow(error=AlreadyCompleted, exit_code=5, http_status=409),
    ErrorRow(error=HandlerAborted, exit_code=5, http_status=409),
    ErrorRow(error=ResultMissing, exit_code=1, http_status=500),
    ErrorRow(error=PayloadMissing, exit_code=1, http_status=500),
    ErrorRow(error=ResultNotStored, exit_code=1, http_status=500),
    ErrorRow(error=ResultUnreadable, exit_code=1, http_status=500),
    ErrorRow(error=PermanentFailure, exit_code=1, http_status=500),
    ErrorRow(error=Retry, exit_code=1, http_status=500),
    ErrorRow(error=HandlerError, exit_code=1, http_status=500),
    ErrorRow(error=RowsBusy, exit_code=6, http_status=503, sqlstates=("RC051",)),
    ErrorRow(error=SchemaBusy, exit_code=6, http_status=503),
    ErrorRow(error=DatabaseReadOnly, exit_code=6, http_status=503, sqlstates=(READ_ONLY,)),
    ErrorRow(error=DatabaseUnavailable, exit_code=6, http_status=503),
    ErrorRow(error=SchemaMissing, exit_code=7, http_status=503, sqlstates=_NO_SCHEMA),
    ErrorRow(error=SchemaTooNew, exit_code=7, http_status=503),
    ErrorRow(error=SchemaDrift, exit_code=7, http_status=503),
    ErrorRow(error=MigrationFailed, exit_code=7, http_status=500),
    ErrorRow(error=WrongIsolation, exit_code=2, http_status=500, sqlstates=("RC050",)),
    ErrorRow(error=DatabaseError, exit_code=6, http_status=500),
    ErrorRow(error=RequestUnderWay, exit_code=5, http_status=409, sqlstates=("RC060",)),
    ErrorRow(error=RequestKeyReused, exit_code=2, http_status=422, sqlstates=("RC061",)),
    ErrorRow(error=RequestError, exit_code=1, http_status=500),
    ErrorRow(error=NotAuthenticated, exit_code=9, http_status=401),
    ErrorRow(error=NotAllowed, exit_code=9, http_status=403),
    ErrorRow(error=NotTheOwner, exit_code=9, http_status=401),
    ErrorRow(error=TooManyRequests, exit_code=9, http_status=429),
    ErrorRow(error=ApiKeyNotFound, exit_code=4, http_status=404),
    ErrorRow(error=PersonNotFound, exit_code=4, http_status=404),
    ErrorRow(error=SessionNotFound, exit_code=4, http_status=404),
    ErrorRow(error=DuplicatePerson, exit_code=5, http_status=409),
    ErrorRow(error=AccessError, exit_code=9, http_status=403),
    ErrorRow(error=InvalidCursor, exit_code=2, http_status=422),
    ErrorRow(error=NoFilter, exit_code=2, http_status=422),
    ErrorRow(error=FilterError, exit_code=2, http_status=422),
    ErrorRow(error=ReplicasOutOfBounds, exit_code=2, http_status=422),
    ErrorRow(error=WorkloadNotFound, exit_code=4, http_status=404),
    ErrorRow(error=ClusterRefused, exit_code=9, http_status=403),
    ErrorRow(error=ClusterMissing, exit_code=6, http_status=503),
    ErrorRow(error=ClusterUnavailable, exit_code=6, http_status=503),
    ErrorRow(error=ScalingError, exit_code=1, http_status=500),
    ErrorRow(error=TooManyWatchers, exit_code=6, http_status=503),
    ErrorRow(error=ConfigError, exit_code=2, http_status=422),
    ErrorRow(error=RolecallError, exit_code=1, http_status=500),
)

_BY_SQLSTATE = {sqlstate: row for row in ERROR_TABLE for sqlstate in row.sqlstates}


def error_for_sqlstate(sqlstate: str | None, problem: str, detail: str | None = None) -> RolecallError | None:
    """Build the error for a SQLSTATE; None if the table does not contain it.

    `detail` is the DETAIL of the database's error: the ids that the error is about.
    """
    row = _BY_SQLSTATE.get(sqlstate or "")
    if row is None:
        return None
    build: Callable[..., RolecallError] = row.error
    if issubclass(row.error, DatabaseError):
        return build(problem, sqlstate=sqlstate)
    ids = map(int, detail.split()) if detail and row.ids else ()
    return build(problem, **dict(zip(row.ids, ids, strict=False)))


def exit_code_for(error: RolecallError) -> int:
    """Return a command's exit code for this error."""
    return _row_of(error).exit_code


def http_status_for(error: RolecallError) -> int:
    """Return a response's HTTP status for this error."""
    return _row_of(error).http_status


def _row_of(error: RolecallError) -> ErrorRow:
    return next(row for row in ERROR_TABLE if isinstance(error, row.error))
