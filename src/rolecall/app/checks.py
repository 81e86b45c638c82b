"""Checks: what an app has the doctor look at beside the pool."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import psycopg

from rolecall.model.doctor import Finding

__all__ = ["AppCheck", "Check", "named"]


class Check(Protocol):
    """Looks at something by a connection to the pool's database, changes nothing, and returns what is wrong with it.

        async def tills(connection: psycopg.AsyncConnection[Any]) -> list[Finding]:
            return [Finding(severity=Severity.WARNING, problem="till 7 is open", advice="close it", path="/tills")]

        app = App("shop", checks=[tills])

    It is given ten seconds; one that raises is told as a finding of its own.
    """

    async def __call__(self, connection: psycopg.AsyncConnection[Any], /) -> Iterable[Finding]: ...


@dataclass(frozen=True, slots=True)
class AppCheck:
    """A check of an app's; its name begins with the app's."""

    app: str
    name: str
    look: Check


def named(app: str, checks: Sequence[Check]) -> list[AppCheck]:
    """Name an app's checks by their functions."""
    return [AppCheck(app, f"{app}.{getattr(check, '__name__', type(check).__name__)}", check) for check in checks]
