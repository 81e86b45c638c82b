"""The App of a Django project's workers: its handlers and Django's own tasks, with fresh connections."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import replace
from functools import wraps
from types import MappingProxyType
from typing import Any

import django
from asgiref.sync import sync_to_async
from django.apps import apps
from django.db import close_old_connections, connections

from rolecall.app import App
from rolecall.app.handlers import HandlerDefinition, HandlerSettings
from rolecall.django.connections import HandlerConnections


class DjangoSetUp:
    """Sets up Django in a handler's child process, with the databases of the process that pickles it, also in tests."""

    def __init__(self, names: Mapping[str, str] = MappingProxyType({})) -> None:
        self.names = names

    def __reduce__(self) -> tuple[Any, ...]:
        return DjangoSetUp, ({alias: connections[alias].settings_dict["NAME"] for alias in connections},)

    def arrive(self) -> None:
        """Set up Django before the handler's module is imported, and close unusable connections."""
        if not apps.ready:
            django.setup()
        for alias, name in self.names.items():
            if connections[alias].settings_dict["NAME"] != name:
                connections[alias].close()
                connections[alias].settings_dict["NAME"] = name
        close_old_connections()


# A default, because the child process needs Django before the first middleware of the attempt runs.
SET_UP: ContextVar[DjangoSetUp] = ContextVar("SET_UP", default=DjangoSetUp())  # noqa: B039 - it is never changed


class Program(App):
    """An App whose handlers, including those of included apps, use Django's connections like a view.

    `django_tasks` contains Django's own tasks by the names of their handlers. `complete` is set once all have been
    added. Django can become ready again later, in tests that install apps.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name, carries=[SET_UP])
        self._declared.runs_as = "rolecall.django.worker:app"
        self.connections = HandlerConnections()
        self.django_tasks: dict[str, Any] = {}
        self.complete = False

    def include(self, other: App) -> None:
        super().include(other)
        for name in other.handlers:
            self._wrap(name)

    def _define(self, function: Callable[..., Any], name: str | None, settings: HandlerSettings) -> Any:
        definition = super()._define(function, name, settings)
        self._wrap(definition.name)
        return definition

    def _wrap(self, name: str) -> None:
        handlers = self._declared.handlers
        if not handlers[name].process:
            handlers[name] = self._wrap_handler(handlers[name])

    def _wrap_handler(self, handler: HandlerDefinition[..., Any]) -> HandlerDefinition[..., Any]:
        wrap = self._wrap_async if handler.is_async else self._wrap_sync
        gather = handler.gather and self._wrap_handler(handler.gather)
        return replace(handler, function=wrap(handler.function), gather=gather)

    def _wrap_sync(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self.connections.prepare():
                return function(*args, **kwargs)

        return wrapped

    def _wrap_async(self, function: Callable[..., Any]) -> Callable[..., Any]:
        # In the thread in which Django runs the ORM calls of async functions.
        take, give_back = sync_to_async(self.connections.take), sync_to_async(self.connections.give_back)

        @wraps(function)
        async def wrapped(*args: Any, **kwargs: Any) -> Any:
            await take()
            try:
                return await function(*args, **kwargs)
            finally:
                await give_back()

        return wrapped
