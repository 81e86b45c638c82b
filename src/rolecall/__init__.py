"""Role-based background work on Postgres."""

from __future__ import annotations

from rolecall.app import App, HandlerDefinition, RoleDefinition
from rolecall.client import AsyncClient, Client
from rolecall.db.embedded import EmbeddedServer
from rolecall.db.migrator import Migrations, check, migrate
from rolecall.model.errors import (
    ConfigError,
    DatabaseError,
    DatabaseUnavailable,
    HandlerAborted,
    HandlerError,
    HandlerMissing,
    HandlerTimeout,
    InvalidDeclaration,
    InvalidPayload,
    InvalidSchedule,
    InvalidTask,
    LeaseLost,
    RolecallError,
    RoleError,
    ScheduleError,
    ScheduleNotFound,
    SchemaDrift,
    SchemaMissing,
    SchemaTooNew,
    TaskError,
    TaskNotFound,
    TaskNotRetryable,
    UnknownRole,
    WaitTimeout,
    WrongIsolation,
)
from rolecall.model.outcomes import Cancel, Snooze
from rolecall.model.retry import RetryPolicy, exponential, immediate, linear, no_retry
from rolecall.model.schedules import Schedule
from rolecall.model.states import LostReason, TaskState
from rolecall.model.tasks import Enqueued, NewTask, Task

# Context, Worker and WorkerOptions are to be exported here, from rolecall.worker, when that package stands.

__all__ = [
    "App",
    "AsyncClient",
    "Cancel",
    "Client",
    "ConfigError",
    "DatabaseError",
    "DatabaseUnavailable",
    "EmbeddedServer",
    "Enqueued",
    "HandlerAborted",
    "HandlerDefinition",
    "HandlerError",
    "HandlerMissing",
    "HandlerTimeout",
    "InvalidDeclaration",
    "InvalidPayload",
    "InvalidSchedule",
    "InvalidTask",
    "LeaseLost",
    "LostReason",
    "Migrations",
    "NewTask",
    "RetryPolicy",
    "RoleDefinition",
    "RoleError",
    "RolecallError",
    "Schedule",
    "ScheduleError",
    "ScheduleNotFound",
    "SchemaDrift",
    "SchemaMissing",
    "SchemaTooNew",
    "Snooze",
    "Task",
    "TaskError",
    "TaskNotFound",
    "TaskNotRetryable",
    "TaskState",
    "UnknownRole",
    "WaitTimeout",
    "WrongIsolation",
    "check",
    "exponential",
    "immediate",
    "linear",
    "migrate",
    "no_retry",
]
