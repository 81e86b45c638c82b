"""A worker as it introduces itself to the roll call."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["WorkerInfo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerInfo:
    """Who a worker process is and what it can do; no roles means every role."""

    name: str
    roles: tuple[str, ...]
    handlers: tuple[str, ...]
    slots: int
    host: str
    pid: int
    version: str
