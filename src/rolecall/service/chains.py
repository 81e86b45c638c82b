"""Chains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rolecall.client.polling import poll_until_async
from rolecall.model.audit import AuditEvent
from rolecall.model.chains import Chain, ChainFilter, ChainSummary
from rolecall.model.errors import ConfigError, WaitTimeout
from rolecall.model.operator.details import ChainOutline
from rolecall.model.operator.pages import Page
from rolecall.model.tasks import Dependent, Task
from rolecall.service.arguments import STATUSES, require_page
from rolecall.service.database import Database
from rolecall.service.redaction import redact_chain, redact_parts, redact_tasks
from rolecall.sql import chains, outlines, tasks

PAGE = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainHistory:
    """A chain and its tasks, in order."""

    chain: Chain
    tasks: list[Task]


class Chains:
    """The chains of the pool."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(self, which: ChainFilter) -> Page[ChainSummary]:
        """List chains, newest first, without payloads and results. `before` is the position of the cursor.

        Raises ConfigError.
        """
        require_page(which.limit)
        if which.state is not None and which.state not in {"open", *STATUSES}:
            problem = f"{which.state!r} is not one of {', '.join(['open', *STATUSES])}"
            raise ConfigError(problem, variable="state", value=which.state)
        return await self._database.run(chains.summaries(which))

    async def get(self, chain_id: int) -> Chain:
        """Return one chain, open or finished. Raises ChainNotFound."""
        return await redact_chain(self._database, await self._database.run(chains.get(chain_id)))

    async def show(self, chain_id: int) -> ChainHistory:
        """Return one chain with its tasks. Raises ChainNotFound."""
        chain = await self.get(chain_id)
        found = await self._database.run(chains.tasks_of(chain_id))
        return ChainHistory(chain=chain, tasks=await redact_tasks(self._database, found))

    async def outline(self, chain_id: int, *, before: int | None = None) -> ChainOutline:
        """Return the chain with its last tasks, or the last ones before an index, and its needs and dependents.

        Raises ChainNotFound.
        """
        chain = await self._database.run(chains.summary(chain_id))
        found = await self._database.run(chains.parts(chain_id, before, PAGE))
        parts = await redact_parts(self._database, found)
        ids = [part.task.id for part in parts]
        needs = await self._database.run(chains.needs(ids, PAGE + 1))
        dependents = await self._database.run(chains.dependents(chain_id, None, PAGE + 1))
        children = await self._database.run(outlines.children(ids, chain.created_at))
        return ChainOutline(
            chain=chain,
            parts=parts,
            children=children,
            needs=needs[:PAGE],
            more_needs=len(needs) > PAGE,
            dependents=dependents[:PAGE],
            more_dependents=len(dependents) > PAGE,
        )

    async def wait(self, chain_id: int, seconds: float) -> Chain:
        """Return the chain once its last task has finished. Raises WaitTimeout, ChainNotFound."""
        late = WaitTimeout(task_id=chain_id, seconds=seconds, chain=True)
        return await poll_until_async(lambda: self.get(chain_id), lambda chain: not chain.open, late)

    async def complete(self, chain_id: int, result: object = None) -> str:
        """Complete the chain's open task without a worker. Return completed, finished (it was already) or missing."""
        event = AuditEvent("chains.complete", {"id": chain_id})
        return await self._database.act(event, chains.complete(chain_id, result))

    async def blocking(self, chain_id: int, *, after: int | None = None, limit: int = 50) -> Sequence[Dependent]:
        """List the dependents of the chain and its tasks, by id. The next page starts with `after` set to the last task
        id.

        Raises ChainNotFound, ConfigError.
        """
        require_page(limit)
        await self.get(chain_id)
        return await self._database.run(chains.dependents(chain_id, after, limit))

    async def delete(self, ids: Iterable[int], *, cascade: bool = False) -> dict[int, int]:
        """Delete chains including everything below them, all or none; `cascade` also deletes what they need.

        Returns the number of tasks of each deleted chain. Raises ChainNeeded.
        """
        chain_ids = list(ids)
        event = AuditEvent("chains.delete", {"ids": chain_ids, "cascade": cascade})
        was = tasks.kinds_of_chains(chain_ids)
        return await self._database.act(event, chains.delete(chain_ids, cascade=cascade), was)
