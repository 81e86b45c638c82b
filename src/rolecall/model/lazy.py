"""Lazy names: a package imports a name when it is first used, so that users of one name do not import all modules."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType

NO_LIBPQ = "no pq wrapper available"  # psycopg's message, with one line for each attempt


def import_with_driver(module: str) -> ModuleType:
    """Import a module that may import psycopg. Raises ConfigError if psycopg does not find libpq."""
    try:
        return import_module(module)
    except ImportError as error:
        if not str(error).startswith(NO_LIBPQ):
            raise
        from rolecall.model.errors import ConfigError  # noqa: PLC0415 - only needed here

        raise ConfigError(
            "libpq, the client library of Postgres, is not installed: install the package of the system (libpq5 on"
            " Debian), or pip install 'psycopg[binary]'",
            variable="psycopg",
        ) from None


def lazy_names(
    package: str, modules: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` (PEP 562) for a package, from a table of modules and their names.

    A name that was used once is set on the package. Type checkers need the imports themselves, under `if
    TYPE_CHECKING`. Put the result of this function under the `else`, or type checkers accept every name.
    """
    places = {name: module for module, names in modules.items() for name in names}

    def import_name(name: str) -> object:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package])
        found: object = getattr(import_with_driver(places[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    def all_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *places})

    return import_name, all_names
