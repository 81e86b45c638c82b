"""The async client. Most methods run one statement."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from math import inf
from typing import Any, TypeVar, cast

import psycopg

from rolecall.client.async_core import AsyncClientCore
from rolecall.client.held_chain import AsyncHeldChain, require_transaction_async
from rolecall.client.polling import poll_until_async
from rolecall.client.requests import (
    as_ids,
    id_of,
    next_tasks_of_async,
    with_large_values_stored_async,
)
from rolecall.client.transactions import require_block
from rolecall.db.after_commit import AfterCommit, Call, make_calls_async
from rolecall.db.joined import join_async
from rolecall.db.run import translating_errors
from rolecall.model.chains import Chain, ChainFilter
from rolecall.model.errors import TaskNotFound, WaitTimeout
from rolecall.model.keys import KeyCapacity
from rolecall.model.operator.error_groups import ErrorGroup, ErrorGroupFilter
from rolecall.model.operator.insight import RoleCount
from rolecall.model.operator.logs import LogFilter, LogLevel, LogLine
from rolecall.model.tasks import Enqueued, NewTask, TreeNode
from rolecall.model.transactions import AsyncJoinable
from rolecall.sql import chains, error_groups, insight, keys, logs, outside, structure, tasks
from rolecall.sql.events import ENDS
from rolecall.transport.transport import CANCEL_CHANNEL, WAKE_CHANNEL

R = TypeVar("R")
MOST_LOG_LINES = 10_000
T = TypeVar("T")


class AsyncClient(AsyncClientCore):
    """Enqueues tasks and reads their state. Belongs to one event loop.

        async with AsyncClient("postgresql://...", app=app) as client:
            task = await client.enqueue(fetch, {"store": 7}, priority=5)
            print((await client.wait(task.id, timeout=30)).result)

    `database` is a connection string, or a psycopg pool (which you close yourself). Without it, the client uses
    DATABASE_URL or else the embedded server. It connects when first needed. With `app`, the app's roles, handlers
    and keys are declared before the first enqueue. `connection=` shares your transaction, which you commit: it
    accepts connections and sessions of psycopg, asyncpg, SQLAlchemy and SQLModel. `pooled`: whether the database is
    behind a pooler in transaction mode; None uses ROLECALL_POOLED, or detects it.
    """

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        """Open a transaction. Pass its connection as `connection=`, and write your own rows with it.

            async with client.transaction() as connection:
                await connection.execute("insert into orders ...")
                await client.enqueue(bill, {"order": 7}, connection=connection)
                client.after_commit(tell_the_shop)

        It is committed at the end of the block and rolled back by an exception. A nested call opens a savepoint.
        """
        if surrounding := AfterCommit.of(self):
            here = cast("psycopg.AsyncConnection[Any]", surrounding.connection)
            async with here.transaction():
                yield here
            return
        async with AsyncExitStack() as stack:
            with translating_errors():
                here = await stack.enter_async_context(self._pools.connection())
                block = await stack.enter_async_context(here.transaction())
            after_commit = AfterCommit(here, [self])
            with after_commit.surround():
                yield here
        await make_calls_async(after_commit.close(block))

    def after_commit(self, call: Call) -> None:
        """Call a function after the commit of the surrounding `transaction()`.

        Functions are called in order and at most once. None is called after a rollback, and the rollback of a
        savepoint discards its calls. Errors are logged. Use a task for anything that must not be lost. Raises
        ConfigError outside the block, and TypeError for an async function, which only AsyncClient can await.
        """
        require_block(self).add(call)

    async def cancel(self, ids: int | Iterable[int], *, connection: AsyncJoinable | None = None) -> dict[int, str]:
        """Cancel tasks. Return for each: cancelled, requested (it was running), finished or missing."""
        return await self._run_and_notify(CANCEL_CHANNEL, tasks.cancel(as_ids(ids)), connection)

    async def retry(self, ids: int | Iterable[int], *, connection: AsyncJoinable | None = None) -> dict[int, str]:
        """Retry failed and cancelled tasks. Return for each: pending, open, completed, duplicate or missing."""
        return await self._run_and_notify(WAKE_CHANNEL, tasks.retry(as_ids(ids)), connection)

    async def spawn(
        self,
        parent_id: int,
        batch: Iterable[NewTask],
        *,
        serial: bool | None = None,
        connection: AsyncJoinable | None = None,
    ) -> list[Enqueued]:
        """Add children to a running or waiting task. Raises InvalidTask and ParentNotOpen."""
        children = await with_large_values_stored_async(list(batch), self._app)
        return await self._run(structure.spawn(parent_id, children, serial=serial), connection)

    async def logs(
        self, task: Enqueued[Any] | int, *, attempt: int | None = None, level: LogLevel | None = None
    ) -> list[LogLine]:
        """Return the log lines of a task's attempts, or of one, oldest first, from a level. At most the last 10,000.

        Lines of a running task appear within about a second. Raises TaskNotFound.
        """
        await self.get(task)
        which = LogFilter(attempt=attempt, level=level, limit=MOST_LOG_LINES, last=True)
        return (await self._run(logs.lines(id_of(task), which))).items

    async def tree(self, root_id: int) -> list[TreeNode]:
        """Return a task and everything below it, level by level. Raises TaskNotFound."""
        nodes = await self._run(structure.tree(root_id))
        if not nodes:
            raise TaskNotFound(task_id=root_id)
        return nodes

    async def complete(
        self,
        task_id: int,
        result: object = None,
        *,
        continue_with: NewTask | None = None,
        follow_ups: Iterable[NewTask] = (),
        connection: AsyncJoinable | None = None,
    ) -> str:
        """Complete an open task without a worker. Return completed, finished (it had finished before) or missing.

        Open tasks below it are cancelled, and a running handler must stop (reason `completed`). Raises InvalidTask
        and UnknownRole.
        """
        await self._declare(connection)
        after = await next_tasks_of_async(continue_with, follow_ups, self._app)
        return await self._run(outside.complete(task_id, result, after), connection)

    async def fail(self, task_id: int, error: str, *, connection: AsyncJoinable | None = None) -> str:
        """Fail an open task permanently, without a worker.

        Return failed, finished (it had finished before) or missing.
        """
        return await self._run(outside.fail(task_id, error), connection)

    async def issue_token(
        self, task_id: int, *, ttl: float = outside.TOKEN_TTL, connection: AsyncJoinable | None = None
    ) -> str:
        """Return a completion token for an open task, valid for `ttl` seconds.

        Only its digest is stored, so it cannot be read again. Raises TaskNotFound and InvalidTask.
        """
        return await self._run(outside.issue_token(task_id, ttl), connection)

    async def complete_by_token(
        self,
        token: str,
        result: object = None,
        *,
        continue_with: NewTask | None = None,
        follow_ups: Iterable[NewTask] = (),
        connection: AsyncJoinable | None = None,
    ) -> int:
        """Complete the task of a completion token and return its id. Raises InvalidToken and InvalidTask."""
        await self._declare(connection)
        after = await next_tasks_of_async(continue_with, follow_ups, self._app)
        return await self._run(outside.complete_by_token(token, result, after), connection)

    async def fail_by_token(self, token: str, error: str, *, connection: AsyncJoinable | None = None) -> int:
        """Fail the task of a completion token and return its id. Raises InvalidToken."""
        return await self._run(outside.fail_by_token(token, error), connection)

    async def trigger(
        self, ids: int | Iterable[int], *, connection: AsyncJoinable | None = None
    ) -> dict[int, datetime]:
        """Make pending tasks due now, all or none. Raises TaskNotFound and TaskNotTriggerable.

        Return the time since when each task is due, in the order of the ids.
        """
        return await self._run_and_notify(WAKE_CHANNEL, outside.trigger(as_ids(ids)), connection)

    async def get_chain(self, chain_id: int) -> Chain:
        """Return a chain by the id of its first task. Raises ChainNotFound."""
        return await self._run(chains.get(chain_id))

    async def list_chains(self, which: ChainFilter | None = None) -> list[Chain]:
        """Return a page of chains, newest first. For the next page, set `before` to the last id."""
        return await self._run(chains.list_(which or ChainFilter()))

    async def wait_chain(self, chain_id: int, timeout: float = inf) -> Chain:
        """Return a chain once its last task has finished, with any outcome. Raises WaitTimeout and ChainNotFound."""
        late = WaitTimeout(task_id=chain_id, seconds=timeout, chain=True)
        return await poll_until_async(lambda: self.get_chain(chain_id), lambda chain: not chain.open, late)

    async def complete_chain(
        self,
        chain_id: int,
        result: object = None,
        *,
        continue_with: NewTask | None = None,
        follow_ups: Iterable[NewTask] = (),
        connection: AsyncJoinable | None = None,
    ) -> str:
        """Complete the open task of a chain. Return completed, finished (the chain had finished) or missing."""
        await self._declare(connection)
        after = await next_tasks_of_async(continue_with, follow_ups, self._app)
        return await self._run(chains.complete(chain_id, result, after), connection)

    @asynccontextmanager
    async def completing(
        self, chain_id: int, *, connection: AsyncJoinable | None = None
    ) -> AsyncIterator[AsyncHeldChain]:
        """Lock a chain's open task during the block, to decide about it there. Raises ChainNotFound.

            async with client.completing(chain_id) as chain:
                if chain.task is not None and chain.task.handler == "approval":
                    await chain.complete({"approved": True}, continue_with=publish.task())

        The block is one transaction, committed at its end and rolled back by an exception, or part of yours.
        Meanwhile no worker can claim or finish the task. The block can complete several tasks of the chain, or
        none.
        """
        await self._declare(connection)
        async with AsyncExitStack() as stack:
            collector = stack.enter_context(self._teller.collect(ENDS, joined=connection))
            if connection is not None:
                here = await require_transaction_async(join_async(connection))
            else:
                with translating_errors():
                    here = await stack.enter_async_context(self._pools.connection())
                    await stack.enter_async_context(here.transaction())
            yield await AsyncHeldChain(here, chain_id, self._app, collector).hold()

    async def delete_chains(
        self, ids: int | Iterable[int], *, cascade: bool = False, connection: AsyncJoinable | None = None
    ) -> dict[int, int]:
        """Delete chains with the trees below them and, with `cascade`, everything they need. Raises ChainNeeded.

        Return the number of deleted tasks by chain; ids without a chain are omitted. Running handlers must stop
        (reason `deleted`).
        """
        return await self._run(chains.delete(as_ids(ids), cascade=cascade), connection)

    async def counts(self) -> list[RoleCount]:
        """Count the tasks of each role by status."""
        return await self._run(insight.counts())

    async def error_groups(self, which: ErrorGroupFilter | None = None) -> list[ErrorGroup]:
        """List the failures with the same cause as groups, those with the latest failures first."""
        page = await self._run(error_groups.list_(which or ErrorGroupFilter()))
        return page.items

    async def set_key_capacity(self, pattern: str, capacity: int | None) -> None:
        """Set how many tasks of a key may run at once, or of each key that matches a key pattern (`tenant:*`).

        This overrides the app's declaration for the same pattern; None removes the override. A larger capacity
        takes effect at once; a smaller one does not stop running tasks. Commits immediately. Raises
        InvalidDeclaration.
        """
        await self._run(keys.set_capacity(pattern, capacity))

    async def key_capacities(self, *, after: str = "", limit: int = 1_000) -> list[KeyCapacity]:
        """List the capacities of keys and key patterns in order.

        For the next page, set `after` to the last pattern.
        """
        return await self._run(keys.capacities(after, limit))
