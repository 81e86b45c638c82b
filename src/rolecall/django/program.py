"""What a worker of a Django project runs: its App and Django's own tasks, each with Django's connections fresh."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import replace
from functools import wraps
from typing import Any

import django
from asgiref.sync import sync_to_async
from django.apps import apps
from django.db import close_old_connections, connections

from rolecall.app import App
from rolecall.app.handlers import HandlerDefinition, HandlerSettings, Next
from rolecall.django.connections import HandlerConnections

__all__ = ["Program"]


class DjangoSetUp:
    """Goes with a handler into its process, where nobody else has set Django up, nor told it of the test database."""

    def __init__(self) -> None:
        self.names = {alias: connections[alias].settings_dict["NAME"] for alias in connections}

    def arrive(self) -> None:
        """Set it up, before the handler's module is imported, and let it find its connections fresh."""
        if not apps.ready:
            django.setup()
        for alias, name in self.names.items():
            if connections[alias].settings_dict["NAME"] != name:
                connections[alias].close()
                connections[alias].settings_dict["NAME"] = name
        close_old_connections()


SET_UP: ContextVar[DjangoSetUp] = ContextVar("SET_UP")


class Program(App):
    """An App whose handlers, own and included, find Django's connections as a view does.

    `django_tasks` are Django's own tasks, by the names of the handlers that run them; `complete` says that all has been
    taken over: Django may be made ready again, as tests do that install apps.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name, carries=[SET_UP])
        self.connections = HandlerConnections()
        self.django_tasks: dict[str, Any] = {}
        self.complete = False

    def include(self, other: App) -> None:
        """Take over what another app declares, as any App does."""
        super().include(other)
        for name in other.handlers:
            self._enclose(name)

    def _define(self, function: Callable[..., Any], name: str | None, settings: HandlerSettings) -> Any:
        definition = super()._define(function, name, settings)
        self._enclose(definition.name)
        return definition

    def _enclose(self, name: str) -> None:
        handlers, around = self._declared.handlers, self._declared.around
        if handlers[name].process:
            around[name] = (_setting_django_up, *around.get(name, handlers[name].middlewares))
        else:
            handlers[name] = self._enclosed(handlers[name])

    def _enclosed(self, handler: HandlerDefinition[..., Any]) -> HandlerDefinition[..., Any]:
        enclose = self._enclosed_async if handler.is_async else self._enclosed_plain
        gather = handler.gather and self._enclosed(handler.gather)
        return replace(handler, function=enclose(handler.function), gather=gather)

    def _enclosed_plain(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def enclosed(*args: Any, **kwargs: Any) -> Any:
            with self.connections.taken():
                return function(*args, **kwargs)

        return enclosed

    def _enclosed_async(self, function: Callable[..., Any]) -> Callable[..., Any]:
        # In the one thread in which Django runs what async functions ask of the ORM.
        take, give_back = sync_to_async(self.connections.take), sync_to_async(self.connections.give_back)

        @wraps(function)
        async def enclosed(*args: Any, **kwargs: Any) -> Any:
            SET_UP.set(DjangoSetUp())  # for what it calls by `ctx.in_process`
            await take()
            try:
                return await function(*args, **kwargs)
            finally:
                await give_back()

        return enclosed


async def _setting_django_up(_ctx: Any, call_next: Next) -> object:
    SET_UP.set(DjangoSetUp())
    return await call_next()
