"""Role-based background work on Postgres."""

from __future__ import annotations

from rolecall.app import App, HandlerDefinition, RoleDefinition
from rolecall.client import AsyncClient, Client
from rolecall.db.embedded import EmbeddedServer, EmbeddedServerError
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
    PermanentFailure,
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
from rolecall.worker.context import BatchContext, Context
from rolecall.worker.options import WorkerOptions
from rolecall.worker.worker import Worker

__all__ = [
    "App",
    "AsyncClient",
    "BatchContext",
    "Cancel",
    "Client",
    "ConfigError",
    "Context",
    "DatabaseError",
    "DatabaseUnavailable",
    "EmbeddedServer",
    "EmbeddedServerError",
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
    "PermanentFailure",
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
    "Worker",
    "WorkerOptions",
    "WrongIsolation",
    "check",
    "exponential",
    "immediate",
    "linear",
    "migrate",
    "no_retry",
]
