"""The progress of trees and roles."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from rolecall.model.errors import ConfigError, TaskNotFound
from rolecall.model.operator.live import LiveSnapshot
from rolecall.model.operator.progress import Progress as TreeProgress
from rolecall.model.operator.progress import progress_of
from rolecall.service.database import Database
from rolecall.sql import progress


class Progress:
    """The progress of trees and roles."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def tree(self, task_id: int, weights: Mapping[str, float] | None = None) -> TreeProgress:
        """Return the progress of a task and everything below it; `weights` by handler. Raises TaskNotFound."""
        parents = await self._database.run(progress.tree(task_id))
        if not parents:
            raise TaskNotFound(task_id=task_id)
        return progress_of(parents, weights)

    async def roles(self) -> LiveSnapshot:
        """Return the counts of all roles."""
        return LiveSnapshot(roles=await self._database.run(progress.roles()))


def read_weights(texts: Iterable[str]) -> dict[str, float]:
    """Parse weights such as `fetch:3`. Raises ConfigError."""
    return dict(map(_read_weight, texts))


def _read_weight(text: str) -> tuple[str, float]:
    handler, _, number = text.partition(":")
    try:
        weight = float(number)
    except ValueError:
        weight = math.nan
    if not handler or not 0 < weight < math.inf:
        problem = f"{text!r} is not a handler and a number above 0, such as fetch:3"
        raise ConfigError(problem, variable="weight", value=text)
    return handler, weight
