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
│   ├── HandlerTimeout                    .after (seconds)
│   ├── HandlerAborted                    .reason (LostReason)
│   │   └── AlreadyCompleted              .task_id
│   ├── PermanentFailure                  raised by a handler: no retry would help
│   └── Retry                             .after .at: raised by a handler, when to try again
├── RequestError                   about a request that is carried out once
│   ├── RequestUnderWay            RC060  it has no answer yet
│   └── RequestKeyReused           RC061  its key was another's
├── DatabaseError                         .sqlstate
│   ├── DatabaseUnavailable               worth retrying: no connection, a restart, a lock timeout, a deadlock
│   │   └── SchemaBusy                    .step .seconds .holders: a migration has not got its locks
│   ├── SchemaMissing                     .package .pending: run the migrations first
│   ├── SchemaTooNew                      .package .known .found: run a newer release
│   ├── SchemaDrift                       .package .migration: an applied file was edited
│   └── WrongIsolation             RC050
├── AccessError
│   ├── NotAuthenticated                  nobody knows who asks
│   ├── NotAllowed                        who asks may not do this
│   ├── TooManyRequests                   .retry_after (seconds)
│   ├── ApiKeyNotFound
│   ├── PersonNotFound
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

from __future__ import annotations

from rolecall.model.errors.access import (
    AccessError,
    ApiKeyNotFound,
    DuplicatePerson,
    NotAllowed,
    NotAuthenticated,
    PersonNotFound,
    TooManyRequests,
)
from rolecall.model.errors.database import (
    DatabaseError,
    DatabaseUnavailable,
    SchemaBusy,
    SchemaDrift,
    SchemaMissing,
    SchemaTooNew,
    WrongIsolation,
)
from rolecall.model.errors.filters import (
    FilterError,
    InvalidCursor,
    NoFilter,
)
from rolecall.model.errors.handlers import (
    AlreadyCompleted,
    ContractBroken,
    ContractCode,
    HandlerAborted,
    HandlerError,
    HandlerMissing,
    HandlerNotFound,
    HandlerTimeout,
    InvalidDeclaration,
    InvalidPayload,
    PermanentFailure,
    ResultNotStored,
    Retry,
)
from rolecall.model.errors.live import (
    TooManyWatchers,
)
from rolecall.model.errors.pool import (
    InvalidReport,
    InvalidSchedule,
    RoleError,
    RoleNotFound,
    ScheduleChanged,
    ScheduleConflict,
    ScheduleError,
    ScheduleNotFound,
    UnknownRole,
    UnknownWorker,
    WorkerError,
)
from rolecall.model.errors.requests import (
    RequestError,
    RequestKeyReused,
    RequestUnderWay,
)
from rolecall.model.errors.root import (
    RolecallError,
)
from rolecall.model.errors.scaling import (
    ClusterMissing,
    ClusterRefused,
    ClusterUnavailable,
    ReplicasOutOfBounds,
    ScalingError,
    WorkloadNotFound,
)
from rolecall.model.errors.settings import (
    ConfigError,
)
from rolecall.model.errors.tasks import (
    ChainError,
    ChainFinished,
    ChainLonger,
    ChainNeeded,
    ChainNotFound,
    DuplicateTask,
    InvalidTask,
    InvalidToken,
    LeaseLost,
    NeedsCircle,
    ParentNotOpen,
    TaskError,
    TaskFinished,
    TaskNotFound,
    TaskNotRetryable,
    TaskNotTriggerable,
    WaitTimeout,
)

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
    "NeedsCircle",
    "NoFilter",
    "NotAllowed",
    "NotAuthenticated",
    "ParentNotOpen",
    "PermanentFailure",
    "PersonNotFound",
    "ReplicasOutOfBounds",
    "RequestError",
    "RequestKeyReused",
    "RequestUnderWay",
    "ResultNotStored",
    "Retry",
    "RoleError",
    "RoleNotFound",
    "RolecallError",
    "ScalingError",
    "ScheduleChanged",
    "ScheduleConflict",
    "ScheduleError",
    "ScheduleNotFound",
    "SchemaBusy",
    "SchemaDrift",
    "SchemaMissing",
    "SchemaTooNew",
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
