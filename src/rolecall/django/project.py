"""The App, the program and the client of the Django project: one of each per process, from its settings."""

from __future__ import annotations

from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from rolecall.app import App
from rolecall.django.clients import AwaitedClient, DjangoClient
from rolecall.django.options import options
from rolecall.django.program import Program


def _find_app() -> App:
    name = options().app
    if name is None:
        return App("project")
    try:
        found = import_string(name)
    except ImportError as error:
        raise ImproperlyConfigured(f"ROLECALL['APP'] is {name!r}: {error}") from error
    if not isinstance(found, App):
        raise ImproperlyConfigured(f"ROLECALL['APP'] is {name!r}, a {type(found).__name__}, not a rolecall App")
    return found


app = _find_app()
program = Program("django")
client = DjangoClient(program)
awaited = AwaitedClient(client)
program.clients.async_client.take(awaited)
program.clients.serve_included(app.clients)
