"""Names that a package imports when they are asked for, so that who asks for one does not pay for all."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module

__all__ = ["lazy_names"]


def lazy_names(
    package: str, modules: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Make a package's `__getattr__` and `__dir__` (PEP 562) of a table: which names come from which module.

    What was asked for once stands in the package like any other name. Type checkers need the imports themselves, under
    `if TYPE_CHECKING`; what this makes stands under its `else`, or they would take every name for one of the package's.
    """
    places = {name: module for module, names in modules.items() for name in names}

    def import_name(name: str) -> object:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package])
        found: object = getattr(import_module(places[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    def all_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *places})

    return import_name, all_names
