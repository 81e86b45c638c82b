"""The states in which a task is stored, and the reasons why a claim is lost."""

from __future__ import annotations

from enum import StrEnum


class TaskState(StrEnum):
    """A task's stored state. All other statuses are derived from the row."""

    BLOCKED = "blocked"
    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_finished(self) -> bool:
        """True for the three terminal states."""
        return self in FINISHED_STATES


FINISHED_STATES = frozenset({TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED})


class LostReason(StrEnum):
    """Why a claim is lost, or the handler must stop."""

    TAKEN = "taken"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    DELETED = "deleted"
    TIMEOUT = "timeout"
    SHUTDOWN = "shutdown"
    DATABASE = "database"
    OUT_OF_TURN = "out of turn"
