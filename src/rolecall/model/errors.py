"""The tree of errors; `rolecall.model.error_table` maps them to SQLSTATEs and exit codes.

RolecallError                      every error raised on purpose; .problem is its message
├── TaskError                      about one task
│   ├── TaskNotFound               RC002  .task_id
│   ├── InvalidTask                RC040  .index: it cannot be stored
│   ├── DuplicateTask              RC045  .task_id: the existing task with the dedupe key
│   ├── NeedsCircle                RC043  it would wait for itself
│   ├── ParentNotOpen              RC044  the parent accepts no children, or none of this kind
│   ├── LeaseLost                         .task_id .reason: the claim no longer owns the task
│   ├── TaskNotRetryable                  .task_id .outcome
│   ├── TaskFinished                      .task_id: its outcome cannot change
│   ├── TaskNotTriggerable         RC003  .task_id: it is not pending
│   ├── InvalidToken               RC004  unknown, used or expired, or its task has finished
│   └── WaitTimeout                       .task_id .seconds: the task or its chain did not finish in time
├── ChainError                     about one chain
│   ├── ChainNotFound              RC006  .chain_id
│   ├── ChainNeeded                RC005  .chain_id .task_id: the open task that needs it
│   ├── ChainLonger                RC007  .chain_id .task_id: its tasks cannot be deleted one by one
│   └── ChainFinished                     .chain_id: it cannot be completed again
├── RoleError
│   └── UnknownRole                RC031
│       └── RoleNotFound                  no role has the requested name
├── WorkerError
│   ├── UnknownWorker              RC030
│   └── InvalidReport              RC042
├── ScheduleError
│   ├── ScheduleNotFound           RC020
│   ├── InvalidSchedule            RC021
│   ├── ScheduleConflict           RC022  it is immutable, or its name is taken
│   └── ScheduleChanged            RC023  it changed after it was read
├── ErrorGroupNotFound                .group_id
├── BulkActionNotFound                .bulk_action_id
├── ViewNotFound                      no saved view has the id or name
├── DuplicateView                     another saved view has the name
├── HandlerError
│   ├── InvalidDeclaration         RC041  a handler, role or schedule is declared incorrectly
│   ├── ContractBroken                    .code .handler .details: violates a handler's declaration
│   │   ├── InvalidPayload                invalid_input: the payload does not fit the handler's signature
│   │   └── HandlerMissing                unknown_handler
│   ├── HandlerNotFound                   no handler has the requested name
│   ├── ResultNotStored                   .why: the result had no JSON form or was too large
│   ├── ResultUnreadable                  .handler .problem: the result does not fit its declared type
│   ├── ResultMissing                     an external result cannot be read or stored
│   ├── PayloadMissing                    an external payload field cannot be read or stored
│   ├── HandlerTimeout                    .after (seconds)
│   ├── HandlerAborted                    .reason (LostReason)
│   │   └── AlreadyCompleted              .task_id
│   ├── PermanentFailure                  raised by a handler: a retry would not help
│   └── Retry                             .after .at: raised by a handler, sets the time of the next attempt
├── RequestError                   about a request with a key
│   ├── RequestUnderWay            RC060  it has no response yet
│   └── RequestKeyReused           RC061  another request has the key
├── DatabaseError                         .sqlstate
│   ├── DatabaseUnavailable               worth retrying: no connection, a restart, a full disk, a deadlock
│   │   ├── DatabaseReadOnly       25006  a standby, or default_transaction_read_only is on
│   │   ├── RowsBusy               RC051  nothing was changed: another transaction holds the rows
│   │   └── SchemaBusy                    .step .seconds .holders: a migration did not get its locks
│   ├── SchemaMissing                     .package .pending: run the migrations first
│   ├── SchemaTooNew                      .package .known .found: run a newer release
│   ├── MigrationFailed                   .package .migration: the database rejected it
│   ├── SchemaDrift                       .package .migration: an applied file was edited
│   └── WrongIsolation             RC050
├── AccessError
│   ├── NotAuthenticated                  the caller is unknown
│   ├── NotAllowed                        the caller lacks the right
│   ├── NotTheOwner                       .task_id: it belongs to another owner
│   ├── TooManyRequests                   .retry_after (seconds)
│   ├── ApiKeyNotFound
│   ├── PersonNotFound
│   ├── SessionNotFound
│   └── DuplicatePerson
├── FilterError
│   ├── InvalidCursor                     .cursor: it does not come from a page of this list
│   └── NoFilter                          an action on many tasks needs at least one
├── ScalingError                   about the number of workers in a cluster
│   ├── ReplicasOutOfBounds               .least .most
│   ├── ClusterMissing                    none is configured, or its client is not installed
│   ├── ClusterUnavailable                it does not answer
│   ├── ClusterRefused                    .verb .resource: we have no permission
│   └── WorkloadNotFound                  it has no such StatefulSet or Deployment
├── TooManyWatchers                       this process cannot serve more streams
└── ConfigError                           .variable .value
"""

# sizes: all errors in one place, a few lines each
from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from math import ceil
from typing import Literal

from rolecall.model.durations import require_when
from rolecall.model.sqlstates import READ_ONLY
from rolecall.model.states import LostReason

ContractCode = Literal[
    "not_entry_point",
    "invalid_input",
    "invalid_output",
    "invalid_continuation",
    "invalid_needs",
    "unknown_handler",
]
OURS = "rolecall"
MOST_NAMED = 3


class RolecallError(Exception):
    """The base of all errors that Rolecall raises on purpose."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


class TaskError(RolecallError):
    """The base of errors about one task."""


class TaskNotFound(TaskError):
    """No task, open or finished, has this id."""

    def __init__(self, problem: str = "", *, task_id: int | None = None) -> None:
        super().__init__(problem or f"there is no task {task_id}")
        self.task_id = task_id


class InvalidTask(TaskError):
    """The task cannot be stored; `index` is its position in the batch, if known."""

    def __init__(self, problem: str, *, index: int | None = None) -> None:
        super().__init__(problem if index is None else f"task {index}: {problem}")
        self.index = index
        self.detail = problem

    def moved_by(self, offset: int) -> InvalidTask:
        """Return the same error for a batch that starts `offset` tasks later."""
        return InvalidTask(self.detail, index=None if self.index is None else self.index + offset)


class DuplicateTask(TaskError):
    """A task with this dedupe key exists, and the dedupe mode is `error`; `task_id` is the existing task."""

    def __init__(self, problem: str, *, task_id: int | None = None) -> None:
        super().__init__(problem)
        self.task_id = task_id


class NeedsCircle(TaskError):
    """The task would wait for itself, through its needs or its parent."""


class ParentNotOpen(TaskError):
    """The parent has finished or not started, or has children of the other kind (serial or concurrent)."""


class LeaseLost(TaskError):
    """A claim no longer owns its task."""

    def __init__(self, *, task_id: int, reason: str) -> None:
        super().__init__(f"the claim on task {task_id} is lost: {reason}")
        self.task_id = task_id
        self.reason = reason


class TaskNotRetryable(TaskError):
    """The task cannot be retried: it is open, it has completed, or a newer task has its dedupe key."""

    def __init__(self, *, task_id: int, outcome: str) -> None:
        super().__init__(f"task {task_id} cannot be retried: {outcome}")
        self.task_id = task_id
        self.outcome = outcome


class TaskFinished(TaskError):
    """The task has already finished, so its outcome cannot change."""

    def __init__(self, *, task_id: int) -> None:
        super().__init__(f"task {task_id} has already finished")
        self.task_id = task_id


class TaskNotTriggerable(TaskError):
    """The task cannot be made due now, because it is not pending."""

    def __init__(self, problem: str, *, task_id: int | None = None) -> None:
        super().__init__(problem)
        self.task_id = task_id


class InvalidToken(TaskError):
    """The completion token is unknown, used or expired, or its task has finished."""


class WaitTimeout(TaskError):
    """The task, or the chain that starts with it, did not finish within the caller's timeout."""

    def __init__(self, *, task_id: int, seconds: float, chain: bool = False) -> None:
        super().__init__(f"{'chain' if chain else 'task'} {task_id} did not finish within {seconds:g} s")
        self.task_id = task_id
        self.seconds = seconds


class ChainError(RolecallError):
    """The base of errors about one chain."""


class ChainNotFound(ChainError):
    """No chain, open or finished, has this id."""

    def __init__(self, problem: str = "", *, chain_id: int | None = None) -> None:
        super().__init__(problem or f"there is no chain {chain_id}")
        self.chain_id = chain_id


class ErrorGroupNotFound(RolecallError):
    """No error group has this id."""

    def __init__(self, problem: str = "", *, group_id: int | None = None) -> None:
        super().__init__(problem or f"there is no error group {group_id}")
        self.group_id = group_id


class BulkActionNotFound(RolecallError):
    """No bulk action has this id."""

    def __init__(self, problem: str = "", *, bulk_action_id: int | None = None) -> None:
        super().__init__(problem or f"there is no bulk action {bulk_action_id}")
        self.bulk_action_id = bulk_action_id


class ViewNotFound(RolecallError):
    """No saved view has this id or name."""


class DuplicateView(RolecallError):
    """A saved view with this name already exists."""


class ChainNeeded(ChainError):
    """The chain cannot be deleted: an open task outside it needs it, or waits for it as its child."""

    def __init__(self, problem: str, *, chain_id: int | None = None, task_id: int | None = None) -> None:
        super().__init__(problem)
        self.chain_id = chain_id
        self.task_id = task_id


class ChainLonger(ChainError):
    """The task cannot be deleted alone, because it is part of a longer chain."""

    def __init__(self, problem: str, *, chain_id: int | None = None, task_id: int | None = None) -> None:
        super().__init__(problem)
        self.chain_id = chain_id
        self.task_id = task_id


class ChainFinished(ChainError):
    """The chain has already finished and cannot be completed again."""

    def __init__(self, *, chain_id: int) -> None:
        super().__init__(f"chain {chain_id} has already finished")
        self.chain_id = chain_id


class RoleError(RolecallError):
    """The base of errors about roles."""


class UnknownRole(RoleError):
    """A task names a role that is not declared."""


class RoleNotFound(UnknownRole):
    """No role has the requested name."""


class WorkerError(RolecallError):
    """The base of errors about a worker's registration."""


class UnknownWorker(WorkerError):
    """The worker is not, or no longer, in the worker registry. It must register again."""


class InvalidReport(WorkerError):
    """A worker reported an outcome that the engine does not support."""


class ScheduleError(RolecallError):
    """The base of errors about schedules."""


class ScheduleNotFound(ScheduleError):
    """No schedule has this name."""


class InvalidSchedule(ScheduleError):
    """The schedule cannot be stored."""


class ScheduleConflict(ScheduleError):
    """The stored schedule is immutable, or another schedule has its name."""


class ScheduleChanged(ScheduleError):
    """The schedule was changed after the caller read it."""


class HandlerError(RolecallError):
    """The base of errors about handlers, their payloads and results."""


class InvalidDeclaration(HandlerError):
    """A handler, role or schedule is declared in a way that cannot work."""


class ContractBroken(HandlerError):
    """A task violates the declaration of its handler. `code` names the kind of violation, `details` the values."""

    def __init__(
        self, problem: str, *, code: ContractCode, handler: str, details: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(problem)
        self.code = code
        self.handler = handler
        self.details = dict(details or {})


class InvalidPayload(ContractBroken):
    """The payload does not fit the handler's signature. `stored` is true for the payload of a claimed task."""

    def __init__(self, problem: str, *, handler: str, stored: bool = False) -> None:
        super().__init__(
            f"payload of {handler!r}: {problem}", code="invalid_input", handler=handler, details={"problem": problem}
        )
        self.stored = stored


class HandlerMissing(ContractBroken):
    """No handler of this name is declared here. `named_by` is the place that refers to it, `hint` a suggestion."""

    def __init__(self, *, handler: str, named_by: str | None = None, hint: str = "") -> None:
        speaker = f", but {named_by} refers to it" if named_by else ""
        super().__init__(
            f"no handler named {handler!r} is declared here{speaker}{hint}",
            code="unknown_handler",
            handler=handler,
            details={"named_by": named_by} if named_by else None,
        )


class HandlerNotFound(HandlerError):
    """No handler has the requested name."""


class ResultNotStored(HandlerError):
    """The result that is read was not stored, because it had no JSON form or was too large."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the result was not stored: {why}")
        self.why = why


class ResultUnreadable(HandlerError):
    """A stored result is used although it does not fit the type that its handler declares."""

    def __init__(self, *, handler: str, problem: str) -> None:
        super().__init__(f"the stored result of {handler!r} does not fit its declared type: {problem}")
        self.handler = handler
        self.problem = problem


class ResultMissing(HandlerError):
    """A result that is kept outside the database cannot be read or stored.

    It was deleted or changed, or its store does not answer.
    """


class PayloadMissing(HandlerError):
    """A payload field that is kept outside the database cannot be read or stored.

    It was deleted or changed, it is in another store, or its store does not answer.
    """


class HandlerTimeout(HandlerError):
    """The handler ran longer than its timeout."""

    def __init__(self, *, after: float) -> None:
        super().__init__(f"the handler did not finish within {after:g} s")
        self.after = after


class HandlerAborted(HandlerError):
    """The handler must stop, because its claim is lost."""

    def __init__(self, problem: str | None = None, *, reason: LostReason) -> None:
        super().__init__(problem or f"the handler must stop: {reason}")
        self.reason = reason


class AlreadyCompleted(HandlerAborted):
    """The claim has already completed; this transaction was rolled back.

    Raised by `complete` in a second transaction of the same claim, usually one that repeats a transaction whose
    commit was not acknowledged. Everything that the first one wrote is stored. A handler that raises this error has
    succeeded.
    """

    def __init__(self, *, task_id: int) -> None:
        super().__init__(
            f"task {task_id}: this claim has already completed; the transaction was rolled back",
            reason=LostReason.COMPLETED,
        )
        self.task_id = task_id


class PermanentFailure(HandlerError):
    """Raised by a handler to fail the task at once, because a retry would not help.

    Without a message, `raise PermanentFailure() from error` stores the cause as the task's error.
    """

    def __init__(self, problem: str = "") -> None:
        super().__init__(problem)


class Retry(HandlerError):
    """Raised by a handler to fail this attempt and to set the time of the next one.

    `raise Retry(after=60) from error` stores the cause as the task's error. `after` is in seconds, `at` a moment with
    a time zone; either replaces the retry policy's delay. The attempt counts: after the last one the task fails.
    """

    def __init__(
        self, problem: str = "retry requested", *, after: float | None = None, at: datetime | None = None
    ) -> None:
        require_when("a retry", after, at)
        super().__init__(problem)
        self.after = after
        self.at = at


class DatabaseError(RolecallError):
    """The database rejected a statement or did not answer. The driver's error is the cause."""

    def __init__(self, problem: str, *, sqlstate: str | None = None) -> None:
        super().__init__(problem)
        self.sqlstate = sqlstate


class DatabaseUnavailable(DatabaseError):
    """The database cannot answer now; the same call may succeed later. Whether it took effect is unknown.

    This covers every condition of the server (`rolecall.model.sqlstates`), such as a lost connection, a full disk,
    too many connections, a shutdown, a statement timeout or an internal error.
    """


class DatabaseReadOnly(DatabaseUnavailable):
    """The database accepts no writes now, and the call changed nothing; the same call may succeed later.

    The server is a standby, `default_transaction_read_only` is on, or the caller's own transaction is read-only.
    """

    def __init__(self, problem: str, *, sqlstate: str | None = READ_ONLY) -> None:
        advice = "the server is a standby, or default_transaction_read_only is on; try again when it accepts writes"
        super().__init__(f"the database is read-only ({problem}): {advice}", sqlstate=sqlstate)


class SchemaMissing(DatabaseError):
    """The database lacks tables or functions that this release needs."""

    def __init__(
        self,
        problem: str = "",
        *,
        package: str = OURS,
        pending: Sequence[str] = (),
        sqlstate: str | None = None,
    ) -> None:
        missing = f" ({_some_of(pending)})" if pending else ""
        lacks = problem or f"the database lacks the schema of {package}{missing}"
        super().__init__(lacks + _advice(lacks, package), sqlstate=sqlstate)
        self.lacks = lacks
        self.package = package
        self.pending = tuple(pending)


def _some_of(pending: Sequence[str]) -> str:
    return ", ".join(pending) if len(pending) <= MOST_NAMED else f"{len(pending)} steps, starting with {pending[0]}"


def _advice(lacks: str, package: str) -> str:
    if package != OURS:
        return "; run: rolecall migrate --app MODULE:APP"
    # Objects outside our schema, such as a user's merge function, are not created by our migrations.
    return "; run: rolecall migrate" if OURS in lacks else ""


class SchemaTooNew(DatabaseError):
    """The database was migrated by a newer release than this one."""

    def __init__(self, *, package: str, known: int, found: int) -> None:
        super().__init__(f"the database has version {found} of {package}, but this release knows only {known}")
        self.package = package
        self.known = known
        self.found = found


class SchemaDrift(DatabaseError):
    """An applied migration differs from the file of this release."""

    def __init__(self, *, package: str, migration: str) -> None:
        super().__init__(f"migration {migration} of {package} was edited after it had been applied")
        self.package = package
        self.migration = migration


class MigrationFailed(DatabaseError):
    """The database rejected a migration. Nothing of it was applied; earlier steps remain."""

    def __init__(self, problem: str, *, package: str, migration: str, sqlstate: str | None = None) -> None:
        super().__init__(f"migration {migration} of {package} failed: {problem}", sqlstate=sqlstate)
        self.package = package
        self.migration = migration


class RowsBusy(DatabaseUnavailable):
    """Another transaction has held rows that the call needs for too long. Nothing was changed; call again later."""

    def __init__(self, problem: str, *, sqlstate: str | None = None) -> None:
        super().__init__(problem, sqlstate=sqlstate)


class SchemaBusy(DatabaseUnavailable):
    """A migration did not get its locks in time and changed nothing; earlier steps remain."""

    def __init__(self, *, step: str, seconds: float, holders: Sequence[str]) -> None:
        who = "; ".join(holders) or "none is left, try again"
        super().__init__(
            f"{step} did not get its locks within {seconds:g} s, because other sessions use the tables: {who}"
        )
        self.step = step
        self.seconds = seconds
        self.holders = tuple(holders)


class WrongIsolation(DatabaseError):
    """The transaction's isolation level is not READ COMMITTED, which the engine's functions require."""


class ScalingError(RolecallError):
    """The base of errors about the number of workers and the cluster."""


class ReplicasOutOfBounds(ScalingError):
    """The requested number of workers is outside the configured bounds."""

    def __init__(self, problem: str, *, least: int = 0, most: int = 0) -> None:
        super().__init__(problem)
        self.least = least
        self.most = most


class ClusterMissing(ScalingError):
    """No cluster is configured, or its client is not installed."""


class ClusterUnavailable(ScalingError):
    """The cluster does not answer, or cannot at the moment."""


class ClusterRefused(ScalingError):
    """The cluster denies this service a permission: `verb` on `resource`."""

    def __init__(self, problem: str, *, verb: str = "", resource: str = "") -> None:
        super().__init__(problem)
        self.verb = verb
        self.resource = resource


class WorkloadNotFound(ScalingError):
    """The cluster has no such StatefulSet or Deployment."""


class AccessError(RolecallError):
    """The base of errors about callers, API keys, persons and sessions."""


class NotAuthenticated(AccessError):
    """The caller is unknown: there is no key, or it is unknown, expired or revoked."""


class TooManyRequests(AccessError):
    """The caller must wait `retry_after` seconds before the next request."""

    def __init__(self, problem: str, *, retry_after: float) -> None:
        super().__init__(f"{problem}: try again in {ceil(retry_after)} s")
        self.retry_after = retry_after


class ApiKeyNotFound(AccessError):
    """No API key has this id, or it was already revoked."""


class PersonNotFound(AccessError):
    """No person has this name."""


class SessionNotFound(AccessError):
    """No open session has this id, or it belongs to another person."""


class DuplicatePerson(AccessError):
    """A person with this name already exists."""


class NotAllowed(AccessError):
    """The caller is known but lacks the right."""


class NotTheOwner(AccessError):
    """The task belongs to another owner."""

    def __init__(self, problem: str = "", *, task_id: int | None = None) -> None:
        super().__init__(problem or f"task {task_id} belongs to another owner")
        self.task_id = task_id


class RequestError(RolecallError):
    """The base of errors about requests with a key."""


class RequestUnderWay(RequestError):
    """The same caller's request with this key has no response yet."""


class RequestKeyReused(RequestError):
    """The same caller has used this key for another request."""


class FilterError(RolecallError):
    """The base of errors about filters and cursors."""


class InvalidCursor(FilterError):
    """The cursor does not come from a page of this list."""

    def __init__(self, cursor: str) -> None:
        super().__init__(f"{cursor!r} is not a cursor of this list")
        self.cursor = cursor


class NoFilter(FilterError):
    """An action on many tasks has no filter, so it would apply to all tasks."""

    def __init__(self, problem: str = "at least one filter is required: without one, all tasks would match") -> None:
        super().__init__(problem)


class TooManyWatchers(RolecallError):
    """The server process already serves the maximum number of streams."""


class ConfigError(RolecallError):
    """A setting or argument cannot be used; `variable` is its name."""

    def __init__(self, problem: str, *, variable: str, value: object = None) -> None:
        super().__init__(f"{variable}: {problem}")
        self.variable = variable
        self.value = value
