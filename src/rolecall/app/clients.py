"""The clients that handlers use for `greet.enqueue(...)`, where no client is named."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Generic, Protocol, TypeVar
from weakref import ref

from rolecall.model.errors import ConfigError
from rolecall.model.tasks import Enqueued, NewTask

T = TypeVar("T")


class Enqueuer(Protocol):
    """A Client."""

    def enqueue(self, task: NewTask[Any], /, *, connection: Any = None) -> Enqueued[Any]: ...


class AsyncEnqueuer(Protocol):
    """An AsyncClient."""

    def enqueue(self, task: NewTask[Any], /, *, connection: Any = None) -> Awaitable[Enqueued[Any]]: ...


class AppClients:
    """The latest clients of an app, or else of the app that includes it."""

    def __init__(self) -> None:
        self.sync_client: Latest[Enqueuer] = Latest("Client")
        self.async_client: Latest[AsyncEnqueuer] = Latest("AsyncClient")

    def serve_included(self, included: AppClients) -> None:
        """Use these clients for an included app that has none."""
        included.sync_client.fallback = self.sync_client
        included.async_client.fallback = self.async_client


class Latest(Generic[T]):
    """The latest client of one kind, as a weak reference."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._client: ref[T] | None = None
        self.fallback: Latest[T] | None = None

    def take(self, client: T) -> None:
        self._client = ref(client)

    def get(self) -> T:
        """Return the client. Raises ConfigError if there is none."""
        client = self._client() if self._client is not None else None
        if client is not None:
            return client
        if self.fallback is not None:
            return self.fallback.get()
        raise ConfigError(
            f"this app has no {self._kind}: create one and keep a reference to it, {self._kind}(app=app)",
            variable="client",
        )
