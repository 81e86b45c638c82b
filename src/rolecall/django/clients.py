"""The client of a Django project. Each call runs on Django's connection, in its current transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Self, TypeVar

import psycopg
from asgiref.sync import sync_to_async
from django.db import connections, transaction

from rolecall.app import App
from rolecall.client.held_chain import HeldChain
from rolecall.client.sync_client import Client
from rolecall.db.connect import connect
from rolecall.db.run import run
from rolecall.django.connections import database_alias, database_dsn, database_identity
from rolecall.model.tasks import Enqueued, NewTask
from rolecall.model.transactions import Joinable
from rolecall.sql import keys, roles
from rolecall.sql.statement import Statement

R = TypeVar("R")
T = TypeVar("T")


class DjangoClient(Client):
    """A Client whose calls share Django's transaction, unless `connection=` is passed.

        with transaction.atomic():
            order = Order.objects.create(...)
            client.enqueue(send_receipt, order_id=order.pk)

    Outside of a transaction, each call commits. The app's declarations are stored once per process, through a separate
    connection, so that they do not depend on the caller's transaction.
    """

    def __init__(self, app: App) -> None:
        super().__init__(app=app)
        self._program = app
        self._declared_in: tuple[object, ...] = ()
        self._more_roles: set[str] = set()

    def open(self) -> Self:
        """Declare the app, and check Django's connection."""
        self._declare(None)
        with self._pools.lend(_or_ours(None)):
            return self

    def enqueue_many(self, batch: Iterable[NewTask[R]], *, connection: Joinable | None = None) -> list[Enqueued[R]]:
        """Store a batch of any size, all or nothing. The answers are in the order of the batch."""
        return super().enqueue_many(batch, connection=_or_ours(connection))

    @contextmanager
    def completing(self, chain_id: int, *, connection: Joinable | None = None) -> Iterator[HeldChain]:
        """Hold a chain's open task until the block ends. Needs `atomic()`."""
        with super().completing(chain_id, connection=_or_ours(connection)) as chain:
            yield chain

    @contextmanager
    def transaction(self) -> Iterator[psycopg.Connection[Any]]:
        alias = database_alias()
        with transaction.atomic(using=alias):
            yield connections[alias].connection

    def after_commit(self, call: Callable[[], object]) -> None:
        """Call a function after Django's transaction commits (`on_commit` on Rolecall's database)."""
        transaction.on_commit(call, using=database_alias())

    def require_role(self, name: str) -> None:
        """Store a role that the app does not declare."""
        self._declare(None)
        if name not in self._program.roles and name not in self._more_roles:
            with connect(database_dsn(), "client") as connection:
                run(connection, roles.declare([{"name": name}], []))
            self._more_roles.add(name)

    def ask(self, statement: Statement[T]) -> T:
        return self._run(statement)

    def _run(self, statement: Statement[T], joined: Joinable | None = None) -> T:
        return super()._run(statement, _or_ours(joined))

    def _run_and_notify(self, channel: str, statement: Statement[T], joined: Joinable | None) -> T:
        return super()._run_and_notify(channel, statement, _or_ours(joined))

    def _declare(self, joined: Joinable | None) -> None:  # noqa: ARG002 - independent of it
        place = database_identity()
        if place == self._declared_in:
            return
        self._program.check()
        with connect(database_dsn(), "client") as connection:
            run(connection, roles.declare(*self._program.declaration()))
            if self._program.key_capacities:
                run(connection, keys.declare(self._program.key_capacities))
        self._declared_in, self._more_roles = place, set()


def _or_ours(connection: Joinable | None) -> Joinable:
    found: Joinable = connections[database_alias()] if connection is None else connection
    return found


class AwaitedClient:
    """The client behind `await send_receipt.aenqueue(...)`: the same calls, in the thread of Django's connections."""

    def __init__(self, client: DjangoClient) -> None:
        self._client = client

    async def enqueue(self, task: NewTask[Any], /, *, connection: Any = None) -> Enqueued[Any]:
        [stored] = await sync_to_async(self._client.enqueue_many)([task], connection=connection)
        return stored
