"""What duties ask of whoever lends them a connection."""

from __future__ import annotations

from typing import Protocol, TypeVar

from rolecall.sql.statement import Statement

T = TypeVar("T")


class Runs(Protocol):
    """Whatever runs a statement and returns its answer."""

    async def run(self, statement: Statement[T]) -> T:
        """Run it; whether an unreachable database raises is for the implementation to say."""
