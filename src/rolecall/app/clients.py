"""By which client the tasks of a handler go, where nobody names one: `greet.enqueue(...)`."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Protocol
from weakref import ref

from rolecall.model.errors import ConfigError
from rolecall.model.tasks import Enqueued, NewTask

__all__ = ["AppClients", "AsyncEnqueuer", "Enqueuer"]


class Enqueuer(Protocol):
    """A Client."""

    def enqueue(self, task: NewTask[Any], /, *, connection: Any = None) -> Enqueued[Any]: ...


class AsyncEnqueuer(Protocol):
    """An AsyncClient."""

    def enqueue(self, task: NewTask[Any], /, *, connection: Any = None) -> Awaitable[Enqueued[Any]]: ...


class AppClients:
    """The clients that were last made with an app, or with an app that includes it; they are not kept alive here."""

    def __init__(self) -> None:
        self._plain: ref[Enqueuer] | None = None
        self._async: ref[AsyncEnqueuer] | None = None
        self.including: AppClients | None = None

    def take(self, client: Enqueuer) -> None:
        """Let tasks go by this client from now on."""
        self._plain = ref(client)

    def take_async(self, client: AsyncEnqueuer) -> None:
        """Let tasks that are awaited go by this client from now on."""
        self._async = ref(client)

    def plain(self) -> Enqueuer:
        """Return the Client; raise ConfigError where there is none."""
        client = self._plain() if self._plain is not None else None
        if client is not None:
            return client
        if self.including is not None:
            return self.including.plain()
        raise _none("Client")

    def awaited(self) -> AsyncEnqueuer:
        """Return the AsyncClient; raise ConfigError where there is none."""
        client = self._async() if self._async is not None else None
        if client is not None:
            return client
        if self.including is not None:
            return self.including.awaited()
        raise _none("AsyncClient")


def _none(kind: str) -> ConfigError:
    return ConfigError(f"no {kind} of this app is there: make one, and keep it: {kind}(app=app)", variable="client")
