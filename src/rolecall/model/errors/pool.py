"""Errors about roles, workers and schedules."""

from __future__ import annotations

from rolecall.model.errors.root import RolecallError


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
