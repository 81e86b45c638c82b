"""What an operator may do with chains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rolecall.client.requests import until_async
from rolecall.model.audit import AuditEvent
from rolecall.model.chains import Chain, ChainFilter, ChainSummary
from rolecall.model.details import ChainOutline
from rolecall.model.errors import ConfigError, WaitTimeout
from rolecall.model.pages import Page
from rolecall.model.tasks import Dependent, Task
from rolecall.service.arguments import require_page
from rolecall.service.database import Database
from rolecall.service.redaction import shown_chain, shown_parts, shown_tasks
from rolecall.service.tasks import STATUSES
from rolecall.sql import chains, outlines, tasks

PAGE = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainHistory:
    """A chain and its tasks, the first one first."""

    chain: Chain
    tasks: list[Task]


class Chains:
    """The pool, chain by chain."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(self, which: ChainFilter) -> Page[ChainSummary]:
        """A page of chains, newest first, without payloads and results: `before` is the id that its cursor stands for.

        Raises ConfigError.
        """
        require_page(which.limit)
        if which.state is not None and which.state not in {"open", *STATUSES}:
            problem = f"{which.state!r} is not one of {', '.join(['open', *STATUSES])}"
            raise ConfigError(problem, variable="state", value=which.state)
        return await self._database.run(chains.summaries(which))

    async def get(self, chain_id: int) -> Chain:
        """One chain, open or ended. Raises ChainNotFound."""
        return await shown_chain(self._database, await self._database.run(chains.get(chain_id)))

    async def show(self, chain_id: int) -> ChainHistory:
        """One chain with its tasks. Raises ChainNotFound."""
        chain = await self.get(chain_id)
        found = await self._database.run(chains.tasks_of(chain_id))
        return ChainHistory(chain=chain, tasks=await shown_tasks(self._database, found))

    async def outline(self, chain_id: int, *, before: int | None = None) -> ChainOutline:
        """The chain with its last tasks, or the last ones before an index, and whom it needs and keeps waiting.

        Raises ChainNotFound.
        """
        chain = await self._database.run(chains.summary(chain_id))
        found = await self._database.run(chains.parts(chain_id, before, PAGE))
        parts = await shown_parts(self._database, found)
        ids = [part.task.id for part in parts]
        needs = await self._database.run(chains.needs(ids, PAGE + 1))
        dependents = await self._database.run(chains.blocking(chain_id, None, PAGE + 1))
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
        """The chain once its last task has ended. Raises WaitTimeout, ChainNotFound."""
        late = WaitTimeout(task_id=chain_id, seconds=seconds, chain=True)
        return await until_async(lambda: self.get(chain_id), lambda chain: not chain.open, late)

    async def complete(self, chain_id: int, result: object = None) -> str:
        """Complete the chain's open task without a worker: completed, finished (it had ended) or missing."""
        event = AuditEvent("chains.complete", {"id": chain_id})
        return await self._database.act(event, chains.complete(chain_id, result))

    async def blocking(self, chain_id: int, *, after: int | None = None, limit: int = 50) -> Sequence[Dependent]:
        """A page of who needs the chain or a task of it, by id; page on with `after` the last one's task id.

        Raises ChainNotFound, ConfigError.
        """
        require_page(limit)
        await self.get(chain_id)
        return await self._database.run(chains.blocking(chain_id, after, limit))

    async def delete(self, ids: Iterable[int], *, cascade: bool = False) -> dict[int, int]:
        """Delete chains, all or none, with what is below them; `cascade` adds what they need. Raises ChainNeeded.

        The answer names each deleted chain with the number of its tasks.
        """
        chain_ids = list(ids)
        event = AuditEvent("chains.delete", {"ids": chain_ids, "cascade": cascade})
        was = tasks.kinds_of_chains(chain_ids)
        return await self._database.act(event, chains.delete(chain_ids, cascade=cascade), was)
