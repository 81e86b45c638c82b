"""HTTP routers that an app brings along, of which a worker need not know the library."""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rolecall.model.errors import InvalidDeclaration

__all__ = ["Mount", "Router"]


class Router(Protocol):
    """A router as a FastAPI application includes it; the server checks that it is one."""

    @property
    def routes(self) -> Sequence[Any]:
        """What it answers."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A router, or the name `module:function` of what makes one of the arguments when a server is built."""

    source: Router | str
    arguments: tuple[object, ...] = ()

    def __post_init__(self) -> None:
        if self.arguments and not isinstance(self.source, str):
            raise InvalidDeclaration("a router that is made already takes no arguments")
        if isinstance(self.source, str) and not all(self.source.partition(":")):
            raise InvalidDeclaration(f"{self.source!r} is not of the form module:function")

    def router(self) -> object:
        """Return the router; raise InvalidDeclaration for a name that stands for nothing that can be called."""
        if not isinstance(self.source, str):
            return self.source
        try:
            make = pkgutil.resolve_name(self.source)
        except (ImportError, AttributeError, ValueError) as error:
            raise InvalidDeclaration(f"the router {self.source!r} cannot be imported: {error}") from error
        if not callable(make):
            raise InvalidDeclaration(f"the router {self.source!r} is a {type(make).__name__}, not a function")
        return make(*self.arguments)
