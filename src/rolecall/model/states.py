"""The closed sets of the model: the states a task is stored in, and why a claim can be lost."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["FINISHED_STATES", "LostReason", "TaskState"]


class TaskState(StrEnum):
    """A task's stored state; every other name that people use is a projection of a row."""

    BLOCKED = "blocked"
    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_finished(self) -> bool:
        """True for the three states that a task never leaves by itself."""
        return self in FINISHED_STATES


FINISHED_STATES = frozenset({TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED})


class LostReason(StrEnum):
    """Why a worker no longer owns a task, or must stop running it."""

    TAKEN = "taken"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    DELETED = "deleted"
    TIMEOUT = "timeout"
    SHUTDOWN = "shutdown"
    DATABASE = "database"
    OUT_OF_TURN = "out of turn"
