"""The one tree of errors; `rolecall.model.error_table` ties it to SQLSTATEs and exit codes.

RolecallError                      every error raised on purpose; .problem says what is wrong
├── TaskError                      about one task
│   ├── TaskNotFound               RC002  .task_id
│   ├── InvalidTask                RC040  .index: it cannot be stored as it is
│   ├── DuplicateTask              RC045  .task_id: that of the standing task, with a dedupe_key that is to be new
│   ├── NeedsCircle                RC043  it would wait for itself
│   ├── ParentNotOpen              RC044  it can have no more children, or none of this kind
│   ├── LeaseLost                         .task_id .reason: a newer claim or a person decided otherwise
│   ├── TaskNotRetryable                  .task_id .outcome
│   ├── TaskFinished                      .task_id: nobody can end it another way
│   ├── TaskNotTriggerable         RC003  .task_id: it is not pending
│   ├── InvalidToken               RC004  it is unknown, used or expired, or its task has ended
│   └── WaitTimeout                       .task_id .seconds: it, or its chain, did not finish in time
├── ChainError                     about one chain
│   ├── ChainNotFound              RC006  .chain_id
│   ├── ChainNeeded                RC005  .chain_id .task_id: the open task that needs it
│   ├── ChainLonger                RC007  .chain_id .task_id: no task of it is deleted by itself
│   └── ChainFinished                     .chain_id: nobody can complete it
├── RoleError
│   └── UnknownRole                RC031
│       └── RoleNotFound                  it was asked for by its name
├── WorkerError
│   ├── UnknownWorker              RC030
│   └── InvalidReport              RC042
├── ScheduleError
│   ├── ScheduleNotFound           RC020
│   ├── InvalidSchedule            RC021
│   ├── ScheduleConflict           RC022  it is immutable, or its name is taken
│   └── ScheduleChanged            RC023  since the state that a change is meant for
├── HandlerError
│   ├── InvalidDeclaration         RC041  a handler or role that cannot be what it says
│   ├── ContractBroken                    .code .handler .details: it is not what the handler declares
│   │   ├── InvalidPayload                invalid_input: the payload does not fit the handler's signature
│   │   └── HandlerMissing                unknown_handler
│   ├── HandlerNotFound                   it was asked for by its name
│   ├── ResultNotStored                   .why: a result is read that had no JSON form, or was too large
│   ├── ResultUnreadable                  .handler, .problem: a result is used that does not fit its declared type
│   ├── ResultMissing                     one that is kept elsewhere cannot be had, or not be kept there
│   ├── PayloadMissing                    a field of one that is kept elsewhere, likewise
│   ├── HandlerTimeout                    .after (seconds)
│   ├── HandlerAborted                    .reason (LostReason)
│   │   └── AlreadyCompleted              .task_id
│   ├── PermanentFailure                  raised by a handler: no retry would help
│   └── Retry                             .after .at: raised by a handler, when to try again
├── RequestError                   about a request that is carried out once
│   ├── RequestUnderWay            RC060  it has no answer yet
│   └── RequestKeyReused           RC061  its key was another's
├── DatabaseError                         .sqlstate
│   ├── DatabaseUnavailable               worth retrying: no connection, a restart, a full disk, a deadlock
│   │   ├── DatabaseReadOnly       25006  a standby, or default_transaction_read_only is on
│   │   ├── RowsBusy               RC051  nothing was changed: another transaction holds the rows
│   │   └── SchemaBusy                    .step .seconds .holders: a migration has not got its locks
│   ├── SchemaMissing                     .package .pending: run the migrations first
│   ├── SchemaTooNew                      .package .known .found: run a newer release
│   ├── MigrationFailed                   .package .migration: the database refused it
│   ├── SchemaDrift                       .package .migration: an applied file was edited
│   └── WrongIsolation             RC050
├── AccessError
│   ├── NotAuthenticated                  nobody knows who asks
│   ├── NotAllowed                        who asks may not do this
│   ├── NotTheOwner                       .task_id: it is somebody else's
│   ├── TooManyRequests                   .retry_after (seconds)
│   ├── ApiKeyNotFound
│   ├── PersonNotFound
│   ├── SessionNotFound
│   └── DuplicatePerson
├── FilterError
│   ├── InvalidCursor                     .cursor: no page of the list named it
│   └── NoFilter                          an action on many tasks needs at least one
├── ScalingError                   about the number of workers in a cluster
│   ├── ReplicasOutOfBounds               .least .most
│   ├── ClusterMissing                    none is configured, or its client is not installed
│   ├── ClusterUnavailable                it does not answer
│   ├── ClusterRefused                    .verb .resource: we have no permission
│   └── WorkloadNotFound                  it has no such StatefulSet or Deployment
├── TooManyWatchers                       as many streams are open as one server process serves
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

__all__ = [
    "AccessError",
    "AlreadyCompleted",
    "ApiKeyNotFound",
    "ChainError",
    "ChainFinished",
    "ChainLonger",
    "ChainNeeded",
    "ChainNotFound",
    "ClusterMissing",
    "ClusterRefused",
    "ClusterUnavailable",
    "ConfigError",
    "ContractBroken",
    "ContractCode",
    "DatabaseError",
    "DatabaseReadOnly",
    "DatabaseUnavailable",
    "DuplicatePerson",
    "DuplicateTask",
    "FilterError",
    "HandlerAborted",
    "HandlerError",
    "HandlerMissing",
    "HandlerNotFound",
    "HandlerTimeout",
    "InvalidCursor",
    "InvalidDeclaration",
    "InvalidPayload",
    "InvalidReport",
    "InvalidSchedule",
    "InvalidTask",
    "InvalidToken",
    "LeaseLost",
    "MigrationFailed",
    "NeedsCircle",
    "NoFilter",
    "NotAllowed",
    "NotAuthenticated",
    "NotTheOwner",
    "ParentNotOpen",
    "PayloadMissing",
    "PermanentFailure",
    "PersonNotFound",
    "ReplicasOutOfBounds",
    "RequestError",
    "RequestKeyReused",
    "RequestUnderWay",
    "ResultMissing",
    "ResultNotStored",
    "ResultUnreadable",
    "Retry",
    "RoleError",
    "RoleNotFound",
    "RolecallError",
    "RowsBusy",
    "ScalingError",
    "ScheduleChanged",
    "ScheduleConflict",
    "ScheduleError",
    "ScheduleNotFound",
    "SchemaBusy",
    "SchemaDrift",
    "SchemaMissing",
    "SchemaTooNew",
    "SessionNotFound",
    "TaskError",
    "TaskFinished",
    "TaskNotFound",
    "TaskNotRetryable",
    "TaskNotTriggerable",
    "TooManyRequests",
    "TooManyWatchers",
    "UnknownRole",
    "UnknownWorker",
    "WaitTimeout",
    "WorkerError",
    "WorkloadNotFound",
    "WrongIsolation",
]

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


class DuplicateTask(TaskError):
    """A task stands already with a dedupe_key that was to be new; `task_id` is that task's."""

    def __init__(self, problem: str, *, task_id: int | None = None) -> None:
        super().__init__(problem)
        self.task_id = task_id


class NeedsCircle(TaskError):
    """Through what it needs, or through its parent, the task would wait for itself."""


class ParentNotOpen(TaskError):
    """The parent has ended, has not begun, or has children of the other kind (serial or concurrent)."""


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


class TaskFinished(TaskError):
    """The task has ended already: nobody can end it another way."""

    def __init__(self, *, task_id: int) -> None:
        super().__init__(f"task {task_id} has ended already")
        self.task_id = task_id


class TaskNotTriggerable(TaskError):
    """The task cannot be made due now: only a pending one can."""

    def __init__(self, problem: str, *, task_id: int | None = None) -> None:
        super().__init__(problem)
        self.task_id = task_id


class InvalidToken(TaskError):
    """Nobody's task is ended by this token: it is unknown, used or expired, or the task has ended."""


class WaitTimeout(TaskError):
    """The task, or the chain that begins with it, did not finish within the time that the caller was ready to wait."""

    def __init__(self, *, task_id: int, seconds: float, chain: bool = False) -> None:
        super().__init__(f"{'chain' if chain else 'task'} {task_id} did not finish within {seconds:g} s")
        self.task_id = task_id
        self.seconds = seconds


class ChainError(RolecallError):
    """Something about one chain."""


class ChainNotFound(ChainError):
    """No chain, open or ended, begins with a task of this id."""

    def __init__(self, problem: str = "", *, chain_id: int | None = None) -> None:
        super().__init__(problem or f"there is no chain {chain_id}")
        self.chain_id = chain_id


class ChainNeeded(ChainError):
    """The chain cannot be deleted: an open task that would stay needs it, or waits for it as its child."""

    def __init__(self, problem: str, *, chain_id: int | None = None, task_id: int | None = None) -> None:
        super().__init__(problem)
        self.chain_id = chain_id
        self.task_id = task_id


class ChainLonger(ChainError):
    """The task cannot be deleted by itself: it is a part of a longer chain."""

    def __init__(self, problem: str, *, chain_id: int | None = None, task_id: int | None = None) -> None:
        super().__init__(problem)
        self.chain_id = chain_id
        self.task_id = task_id


class ChainFinished(ChainError):
    """The chain has ended already: nobody can complete it."""

    def __init__(self, *, chain_id: int) -> None:
        super().__init__(f"chain {chain_id} has ended already")
        self.chain_id = chain_id


class RoleError(RolecallError):
    """Something about a role."""


class UnknownRole(RoleError):
    """A task names a role that nobody declared."""


class RoleNotFound(UnknownRole):
    """A role was asked for by its name, and nobody declared it."""


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


class ScheduleConflict(ScheduleError):
    """The schedule that stands does not allow it: it is immutable, or its name is taken."""


class ScheduleChanged(ScheduleError):
    """Somebody has changed the schedule since the state that the change is meant for."""


class HandlerError(RolecallError):
    """Something about the code that does a task."""


class InvalidDeclaration(HandlerError):
    """A handler, role or schedule is declared in a way that cannot work."""


class ContractBroken(HandlerError):
    """Something is not what a handler declares; `code` says in which respect, `details` with what values."""

    def __init__(
        self, problem: str, *, code: ContractCode, handler: str, details: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(problem)
        self.code = code
        self.handler = handler
        self.details = dict(details or {})


class InvalidPayload(ContractBroken):
    """The payload does not fit the handler's signature; `stored`: it is that of a task which a worker has claimed."""

    def __init__(self, problem: str, *, handler: str, stored: bool = False) -> None:
        super().__init__(
            f"payload of {handler!r}: {problem}", code="invalid_input", handler=handler, details={"problem": problem}
        )
        self.stored = stored


class HandlerMissing(ContractBroken):
    """No handler of this name is known here; `named_by` says who speaks of it, `hint` what may have been meant."""

    def __init__(self, *, handler: str, named_by: str | None = None, hint: str = "") -> None:
        speaker = f", but {named_by} names it" if named_by else ""
        super().__init__(
            f"no handler is called {handler!r} here{speaker}{hint}",
            code="unknown_handler",
            handler=handler,
            details={"named_by": named_by} if named_by else None,
        )


class HandlerNotFound(HandlerError):
    """A handler was asked for by its name, and nobody declared it."""


class ResultNotStored(HandlerError):
    """A result is read that could not be stored: it had no JSON form, or was too large."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the result was not stored: {why}")
        self.why = why


class ResultUnreadable(HandlerError):
    """The stored result of a task does not fit the type that its handler declares, and is used as if it did."""

    def __init__(self, *, handler: str, problem: str) -> None:
        super().__init__(f"the stored result of {handler!r} does not fit its declared type: {problem}")
        self.handler = handler
        self.problem = problem


class ResultMissing(HandlerError):
    """A result that is kept outside of the database cannot be had, or not be kept there.

    It is gone, was changed, or its store gives no answer.
    """


class PayloadMissing(HandlerError):
    """A field of a payload that is kept outside of the database cannot be had, or not be kept there.

    It is gone, was changed, its store gives no answer, or another one has it.
    """


class HandlerTimeout(HandlerError):
    """The handler ran longer than its timeout."""

    def __init__(self, *, after: float) -> None:
        super().__init__(f"the handler did not finish within {after:g} s")
        self.after = after


class HandlerAborted(HandlerError):
    """The handler must stop: its task is no longer its own."""

    def __init__(self, problem: str | None = None, *, reason: LostReason) -> None:
        super().__init__(problem or f"the handler must stop: {reason}")
        self.reason = reason


class AlreadyCompleted(HandlerAborted):
    """The claim has completed; the transaction was undone.

    Raised by `complete` in a second transaction of one claim, mostly one that repeats a first whose commit was not
    answered: all that the first one wrote stands. A handler that ends with this error has ended well.
    """

    def __init__(self, *, task_id: int) -> None:
        super().__init__(
            f"task {task_id}: this claim has completed; the transaction was undone", reason=LostReason.COMPLETED
        )
        self.task_id = task_id


class PermanentFailure(HandlerError):
    """For handlers to raise: the task fails at once, because no retry would help.

    Without a word of its own, `raise PermanentFailure() from error` stores the cause as the task's error.
    """

    def __init__(self, problem: str = "") -> None:
        super().__init__(problem)


class Retry(HandlerError):
    """For handlers to raise: this attempt failed, and the next one is to come at a moment of their choosing.

    `raise Retry(after=60) from error` stores the cause as the task's error. `after` is in seconds, `at` a moment
    with a time zone; either stands in for the retry policy. The attempt is spent: the last one fails the task.
    """

    def __init__(
        self, problem: str = "to be tried again", *, after: float | None = None, at: datetime | None = None
    ) -> None:
        require_when("a retry", after, at)
        super().__init__(problem)
        self.after = after
        self.at = at


class DatabaseError(RolecallError):
    """The database refused or could not answer; the driver's error is the cause."""

    def __init__(self, problem: str, *, sqlstate: str | None = None) -> None:
        super().__init__(problem)
        self.sqlstate = sqlstate


class DatabaseUnavailable(DatabaseError):
    """The database cannot answer now; the same call may succeed later. Whether it took effect is unknown.

    This covers every condition of the server (`rolecall.model.sqlstates`), such as a lost connection, a full disk, too
    many connections, a shutdown, a statement timeout or an internal error.
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
    return ", ".join(pending) if len(pending) <= MOST_NAMED else f"{len(pending)} steps, from {pending[0]} on"


def _advice(lacks: str, package: str) -> str:
    if package != OURS:
        return "; run: rolecall migrate --app MODULE:APP"
    # What a merge rule or a SQL handler of the user's own names is not ours to make.
    return "; run: rolecall migrate" if OURS in lacks else ""


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


class MigrationFailed(DatabaseError):
    """The database refused a migration, of which nothing is applied then; the steps before it stay."""

    def __init__(self, problem: str, *, package: str, migration: str, sqlstate: str | None = None) -> None:
        super().__init__(f"migration {migration} of {package} failed: {problem}", sqlstate=sqlstate)
        self.package = package
        self.migration = migration


class RowsBusy(DatabaseUnavailable):
    """Another transaction has held rows that the call needs for too long. Nothing was changed: call again later."""

    def __init__(self, problem: str, *, sqlstate: str | None = None) -> None:
        super().__init__(problem, sqlstate=sqlstate)


class SchemaBusy(DatabaseUnavailable):
    """A migration has not got its locks in time, and changed nothing; the steps before it stay."""

    def __init__(self, *, step: str, seconds: float, holders: Sequence[str]) -> None:
        who = "; ".join(holders) or "nobody does any more: try again"
        super().__init__(f"{step} has not got its locks in {seconds:g} s, as others use the tables: {who}")
        self.step = step
        self.seconds = seconds
        self.holders = tuple(holders)


class WrongIsolation(DatabaseError):
    """The engine's functions run under READ COMMITTED only."""


class ScalingError(RolecallError):
    """Something about the number of workers, or about the cluster."""


class ReplicasOutOfBounds(ScalingError):
    """Fewer or more workers are asked for than the settings allow."""

    def __init__(self, problem: str, *, least: int = 0, most: int = 0) -> None:
        super().__init__(problem)
        self.least = least
        self.most = most


class ClusterMissing(ScalingError):
    """There is no cluster to ask: none is configured, or its client is not installed."""


class ClusterUnavailable(ScalingError):
    """The cluster does not answer, or cannot at the moment."""


class ClusterRefused(ScalingError):
    """The cluster does not let this service do what it must: `verb` on `resource`."""

    def __init__(self, problem: str, *, verb: str = "", resource: str = "") -> None:
        super().__init__(problem)
        self.verb = verb
        self.resource = resource


class WorkloadNotFound(ScalingError):
    """The cluster has no such StatefulSet or Deployment."""


class AccessError(RolecallError):
    """Something about who asks."""


class NotAuthenticated(AccessError):
    """Nobody knows who asks: no key, or one that is unknown, expired or revoked."""


class TooManyRequests(AccessError):
    """Who asks must wait for so many seconds first."""

    def __init__(self, problem: str, *, retry_after: float) -> None:
        super().__init__(f"{problem}: try again in {ceil(retry_after)} s")
        self.retry_after = retry_after


class ApiKeyNotFound(AccessError):
    """No API key has this id, or none that still opens anything."""


class PersonNotFound(AccessError):
    """Nobody of this name may log in."""


class SessionNotFound(AccessError):
    """No open session has this id, or it belongs to somebody else."""


class DuplicatePerson(AccessError):
    """Somebody of this name may log in already."""


class NotAllowed(AccessError):
    """Who asks is known, and may not do this."""


class NotTheOwner(AccessError):
    """The task is somebody else's, and this door shows everybody their own."""

    def __init__(self, problem: str = "", *, task_id: int | None = None) -> None:
        super().__init__(problem or f"task {task_id} is somebody else's")
        self.task_id = task_id


class RequestError(RolecallError):
    """Something about a request that has a key."""


class RequestUnderWay(RequestError):
    """The same caller's request with the same key has no answer yet."""


class RequestKeyReused(RequestError):
    """The key was that of another request of the same caller."""


class FilterError(RolecallError):
    """Something about a filter, or about the way through what it finds."""


class InvalidCursor(FilterError):
    """The cursor is none that a page of this list named as the next one's."""

    def __init__(self, cursor: str) -> None:
        super().__init__(f"{cursor!r} is not the cursor of a page")
        self.cursor = cursor


class NoFilter(FilterError):
    """An action on many tasks says nothing about which ones: everything is never meant."""

    def __init__(self, problem: str = "say which tasks are meant: at least one filter is needed") -> None:
        super().__init__(problem)


class TooManyWatchers(RolecallError):
    """As many streams are open as one server process serves."""


class ConfigError(RolecallError):
    """A setting cannot be used."""

    def __init__(self, problem: str, *, variable: str, value: object = None) -> None:
        super().__init__(f"{variable}: {problem}")
        self.variable = variable
        self.value = value
