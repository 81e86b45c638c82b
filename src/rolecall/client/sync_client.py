"""The sync client. Most methods run one statement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from math import inf
from typing import Any, TypeVar, cast

import psycopg

from rolecall.client.held_chain import HeldChain, require_transaction
from rolecall.client.polling import poll_until
from rolecall.client.requests import (
    as_ids,
    id_of,
    next_tasks_of,
    with_large_values_stored,
)
from rolecall.client.sync_core import ClientCore
from rolecall.client.transactions import require_block, require_sync
from rolecall.db.after_commit import AfterCommit, Call, make_calls
from rolecall.db.joined import join
from rolecall.db.run import translating_errors
from rolecall.model.chains import Chain, ChainFilter
from rolecall.model.errors import TaskNotFound, WaitTimeout
from rolecall.model.keys import KeyCapacity
from rolecall.model.operator.error_groups import ErrorGroup, ErrorGroupFilter
from rolecall.model.operator.insight import RoleCount
from rolecall.model.operator.logs import LogFilter, LogLevel, LogLine
from rolecall.model.tasks import Enqueued, NewTask, TreeNode
from rolecall.model.transactions import Joinable
from rolecall.sql import chains, error_groups, insight, keys, logs, outside, structure, tasks
from rolecall.sql.events import ENDS
from rolecall.transport.transport import CANCEL_CHANNEL, WAKE_CHANNEL

R = TypeVar("R")
MOST_LOG_LINES = 10_000
T = TypeVar("T")


class Client(ClientCore):
    """Enqueues tasks and reads their state. Can be shared between threads.

        with Client("postgresql://...", app=app) as client:
            task = client.enqueue(fetch, {"store": 7}, priority=5)
            print(client.wait(task.id, timeout=30).result)

    `database` is a connection string, or a psycopg pool (which you close yourself). Without it, the client uses
    DATABASE_URL or else the embedded server. It connects when first needed. With `app`, the app's roles, handlers
    and keys are declared before the first enqueue. `connection=` shares your transaction, which you commit: it
    accepts connections and sessions of psycopg, psycopg2, SQLAlchemy, SQLModel and Django. `pooled`: whether the
    database is behind a pooler in transaction mode; None uses ROLECALL_POOLED, or detects it.
    """

    @contextmanager
    def transaction(self) -> Iterator[psycopg.Connection[Any]]:
        """Open a transaction. Pass its connection as `connection=`, and write your own rows with it.

            with client.transaction() as connection:
                connection.execute("insert into orders ...")
                client.enqueue(bill, {"order": 7}, connection=connection)
                client.after_commit(tell_the_shop)

        It is committed at the end of the block and rolled back by an exception. A nested call opens a savepoint.
        """
        if surrounding := AfterCommit.of(self):
            here = cast("psycopg.Connection[Any]", surrounding.connection)
            with here.transaction():
                yield here
            return
        with ExitStack() as stack:
            with translating_errors():
                here = stack.enter_context(self._pools.connection())
                block = stack.enter_context(here.transaction())
            after_commit = AfterCommit(here, [self])
            with after_commit.surround():
                yield here
        make_calls(after_commit.close(block))

    def after_commit(self, call: Call) -> None:
        """Call a function after the commit of the surrounding `transaction()`.

        Functions are called in order and at most once. None is called after a rollback, and the rollback of a
        savepoint discards its calls. Errors are logged. Use a task for anything that must not be lost. Raises
        ConfigError outside the block, and TypeError for an async function, which only AsyncClient can await.
        """
        require_block(self).add(require_sync(call))

    def cancel(self, ids: int | Iterable[int], *, connection: Joinable | None = None) -> dict[int, str]:
        """Cancel tasks. Return for each: cancelled, requested (it was running), finished or missing."""
        return self._run_and_notify(CANCEL_CHANNEL, tasks.cancel(as_ids(ids)), connection)

    def retry(self, ids: int | Iterable[int], *, connection: Joinable | None = None) -> dict[int, str]:
        """Retry failed and cancelled tasks. Return for each: pending, open, completed, duplicate or missing."""
        return self._run_and_notify(WAKE_CHANNEL, tasks.retry(as_ids(ids)), connection)

    def spawn(
        self,
        parent_id: int,
        batch: Iterable[NewTask],
        *,
        serial: bool | None = None,
        connection: Joinable | None = None,
    ) -> list[Enqueued]:
        """Add children to a running or waiting task. Raises InvalidTask and ParentNotOpen."""
        return self._run(
            structure.spawn(parent_id, with_large_values_stored(list(batch), self._app), serial=serial), connection
        )

    def logs(
        self, task: Enqueued[Any] | int, *, attempt: int | None = None, level: LogLevel | None = None
    ) -> list[LogLine]:
        """Return the log lines of a task's attempts, or of one, oldest first, from a level. At most the last 10,000.

        Lines of a running task appear within about a second. Raises TaskNotFound.
        """
        self.get(task)
        which = LogFilter(attempt=attempt, level=level, limit=MOST_LOG_LINES, last=True)
        return (self._run(logs.lines(id_of(task), which))).items

    def tree(self, root_id: int) -> list[TreeNode]:
        """Return a task and everything below it, level by level. Raises TaskNotFound."""
        nodes = self._run(structure.tree(root_id))
        if not nodes:
            raise TaskNotFound(task_id=root_id)
        return nodes

    def complete(
        self,
        task_id: int,
        result: object = None,
        *,
        continue_with: NewTask | None = None,
        follow_ups: Iterable[NewTask] = (),
        connection: Joinable | None = None,
    ) -> str:
        """Complete an open task without a worker. Return completed, finished (it had finished before) or missing.

        Open tasks below it are cancelled, and a running handler must stop (reason `completed`). Raises InvalidTask
        and UnknownRole.
        """
        self._declare(connection)
        return self._run(
            outside.complete(task_id, result, next_tasks_of(continue_with, follow_ups, self._app)), connection
        )

    def fail(self, task_id: int, error: str, *, connection: Joinable | None = None) -> str:
        """Fail an open task permanently, without a worker.

        Return failed, finished (it had finished before) or missing.
        """
        return self._run(outside.fail(task_id, error), connection)

    def issue_token(self, task_id: int, *, ttl: float = outside.TOKEN_TTL, connection: Joinable | None = None) -> str:
        """Return a completion token for an open task, valid for `ttl` seconds.

        Only its digest is stored, so it cannot be read again. Raises TaskNotFound and InvalidTask.
        """
        return self._run(outside.issue_token(task_id, ttl), connection)

    def complete_by_token(
        self,
        token: str,
        result: object = None,
        *,
        continue_with: NewTask | None = None,
        follow_ups: Iterable[NewTask] = (),
        connection: Joinable | None = None,
    ) -> int:
        """Complete the task of a completion token and return its id. Raises InvalidToken and InvalidTask."""
        self._declare(connection)
        return self._run(
            outside.complete_by_token(token, result, next_tasks_of(continue_with, follow_ups, self._app)), connection
        )

    def fail_by_token(self, token: str, error: str, *, connection: Joinable | None = None) -> int:
        """Fail the task of a completion token and return its id. Raises InvalidToken."""
        return self._run(outside.fail_by_token(token, error), connection)

    def trigger(self, ids: int | Iterable[int], *, connection: Joinable | None = None) -> dict[int, datetime]:
        """Make pending tasks due now, all or none. Raises TaskNotFound and TaskNotTriggerable.

        Return the time since when each task is due, in the order of the ids.
        """
        return self._run_and_notify(WAKE_CHANNEL, outside.trigger(as_ids(ids)), connection)

    def get_chain(self, chain_id: int) -> Chain:
        """Return a chain by the id of its first task. Raises ChainNotFound."""
        return self._run(chains.get(chain_id))

    def list_chains(self, which: ChainFilter | None = None) -> list[Chain]:
        """Return a page of chains, newest first. For the next page, set `before` to the last id."""
        return self._run(chains.list_(which or ChainFilter()))

    def wait_chain(self, chain_id: int, timeout: float = inf) -> Chain:
        """Return a chain once its last task has finished, with any outcome. Raises WaitTimeout and ChainNotFound."""
        late = WaitTimeout(task_id=chain_id, seconds=timeout, chain=True)
        return poll_until(lambda: self.get_chain(chain_id), lambda chain: not chain.open, late)

    def complete_chain(
        self,
        chain_id: int,
        result: object = None,
        *,
        continue_with: NewTask | None = None,
        follow_ups: Iterable[NewTask] = (),
        connection: Joinable | None = None,
    ) -> str:
        """Complete the open task of a chain. Return completed, finished (the chain had finished) or missing."""
        self._declare(connection)
        return self._run(
            chains.complete(chain_id, result, next_tasks_of(continue_with, follow_ups, self._app)), connection
        )

    @contextmanager
    def completing(self, chain_id: int, *, connection: Joinable | None = None) -> Iterator[HeldChain]:
        """Lock a chain's open task during the block, to decide about it there. Raises ChainNotFound.

            with client.completing(chain_id) as chain:
                if chain.task is not None and chain.task.handler == "approval":
                    chain.complete({"approved": True}, continue_with=publish.task())

        The block is one transaction, committed at its end and rolled back by an exception, or part of yours.
        Meanwhile no worker can claim or finish the task. The block can complete several tasks of the chain, or
        none.
        """
        self._declare(connection)
        with ExitStack() as stack:
            collector = stack.enter_context(self._teller.collect(ENDS, joined=connection))
            if connection is not None:
                here = require_transaction(join(connection))
            else:
                with translating_errors():
                    here = stack.enter_context(self._pools.connection())
                    stack.enter_context(here.transaction())
            yield HeldChain(here, chain_id, self._app, collector).hold()

    def delete_chains(
        self, ids: int | Iterable[int], *, cascade: bool = False, connection: Joinable | None = None
    ) -> dict[int, int]:
        """Delete chains with the trees below them and, with `cascade`, everything they need. Raises ChainNeeded.

        Return the number of deleted tasks by chain; ids without a chain are omitted. Running handlers must stop
        (reason `deleted`).
        """
        return self._run(chains.delete(as_ids(ids), cascade=cascade), connection)

    def counts(self) -> list[RoleCount]:
        """Count the tasks of each role by status."""
        return self._run(insight.counts())

    def error_groups(self, which: ErrorGroupFilter | None = None) -> list[ErrorGroup]:
        """List the failures with the same cause as groups, those with the latest failures first."""
        page = self._run(error_groups.list_(which or ErrorGroupFilter()))
        return page.items

    def set_key_capacity(self, pattern: str, capacity: int | None) -> None:
        """Set how many tasks of a key may run at once, or of each key that matches a key pattern (`tenant:*`).

        This overrides the app's declaration for the same pattern; None removes the override. A larger capacity
        takes effect at once; a smaller one does not stop running tasks. Commits immediately. Raises
        InvalidDeclaration.
        """
        self._run(keys.set_capacity(pattern, capacity))

    def key_capacities(self, *, after: str = "", limit: int = 1_000) -> list[KeyCapacity]:
        """List the capacities of keys and key patterns in order.

        For the next page, set `after` to the last pattern.
        """
        return self._run(keys.capacities(after, limit))
