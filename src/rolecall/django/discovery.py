"""Finds what a project can do: imports the modules in which its handlers stand, and fills the program with them."""

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

__all__ = ["OURS", "fill"]

OURS = "rolecall.django"


def fill(program: Program, app: App) -> None:
    """Import the modules, then take over what the App declares and Django's tasks; what comes later is refused."""
    modules = list(_modules())
    program.include(app)
    if find_spec("django.tasks") is not None:
        # Django has it from 6.0 on.
        from rolecall.django.tasks import add_tasks  # noqa: PLC0415 - as said

        add_tasks(program, modules)


def _modules() -> Iterator[ModuleType]:
    for name in options().modules:
        if "." in name:
            yield import_module(name)
            continue
        for config in apps.get_app_configs():
            if config.name != OURS and module_has_submodule(config.module, name):
                yield import_module(f"{config.name}.{name}")
