"""Imports the modules that contain a project's handlers, and completes its program."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from django.apps import apps
from django.utils.module_loading import module_has_submodule

from rolecall.app import App
from rolecall.django.options import options
from rolecall.django.program import Program

OURS = "rolecall.django"


def fill(program: Program, app: App) -> None:
    """Import the modules and add the handlers of the App and of Django's tasks. Later declarations are rejected."""
    modules = list(_modules())
    program.include(app)
    if find_spec("django.tasks") is not None:
        # Django 6.0 and newer.
        from rolecall.django.tasks import add_tasks  # noqa: PLC0415 - see above

        add_tasks(program, modules)


def _modules() -> Iterator[ModuleType]:
    for name in options().modules:
        if "." in name:
            yield import_module(name)
            continue
        for config in apps.get_app_configs():
            if config.name != OURS and module_has_submodule(config.module, name):
                yield import_module(f"{config.name}.{name}")
