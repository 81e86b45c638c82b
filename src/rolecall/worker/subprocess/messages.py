"""The messages between a worker and a process that runs handlers and functions for it; and the address of a
function or context variable, by which the process finds it: its module, or the script's file, and its name there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType
from typing import Any

from rolecall.app.handlers import HandlerDefinition
from rolecall.model.errors import InvalidDeclaration
from rolecall.model.outcomes import NoResult
from rolecall.model.tasks import ClaimedTask
from rolecall.worker.outcomes import Verdict

MAIN = "__main__"
SCRIPT = "__rolecall_main__"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTask:
    """Import the handler at this address, to run this task as soon as `Go` follows."""

    address: Address
    task: ClaimedTask
    worker_id: int
    strict: bool = True
    carried: Carried = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """The handler is imported, and is called when `Go` comes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Go:
    """Call the handler now: the attempt has begun."""

    carried: Carried = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFunction:
    """Call the function that stands there, for a handler that waits for it in the worker."""

    address: Address
    arguments: tuple[object, ...]
    named: dict[str, object]
    carried: Carried = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """The handler returned a result, here as JSON text."""

    result_json: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoTaskResult:
    """The handler returned what stands for no result."""

    outcome: NoResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """The handler or function raised, could not be found or called, or returned what cannot be handed over."""

    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnValue:
    """The function returned this object."""

    pickled: bytes


Request = RunTask | Go | CallFunction
Answer = Ready | TaskResult | NoTaskResult | Raised | ReturnValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """The way to a function, or to the definition that a decorator made of it; `place` is a module or a file."""

    place: str
    is_file: bool
    name: str


# Context variables with their values, pickled: the modules of their types are imported only where they are read.
Carried = tuple[tuple[Address, bytes], ...]


def address_of(function: Callable[..., object], *, what: str) -> Address:
    """Return where another process finds a function; raise InvalidDeclaration, which names `what` it is, for none."""
    module, name = function.__module__, function.__qualname__
    try:
        found = _follow(sys.modules.get(module), name)
    except AttributeError:
        found = None
    if _function(found) is not function:
        raise InvalidDeclaration(f"{what} cannot run in a process: {module}.{name} is not its function")
    return _address(module, name, f"{what} cannot run in a process")


def address_of_variable(variable: ContextVar[Any]) -> Address:
    """Return where another process finds a context variable; raise InvalidDeclaration for one that it does not find."""
    problem = f"context variable {variable.name!r} cannot be carried into a process"
    for module, home in list(sys.modules.items()):
        for name, value in list(getattr(home, "__dict__", {}).items()):
            if value is variable:
                return _address(module, name, problem)
    raise InvalidDeclaration(f"{problem}: it stands at the top of no module")


def _address(module: str, name: str, problem: str) -> Address:
    if module != MAIN:
        return Address(place=module, is_file=False, name=name)
    home = sys.modules[module]
    spec, file = getattr(home, "__spec__", None), getattr(home, "__file__", None)
    if spec is None and file is None:
        raise InvalidDeclaration(f"{problem}: it stands in no file")
    return Address(place=spec.name if spec else str(file), is_file=spec is None, name=name)


def find(address: Address) -> object:
    """Import the module or run the script's file, as often as asked but once, and return what stands there."""
    module = _script(address.place) if address.is_file else import_module(address.place)
    return _follow(module, address.name)


def function_at(address: Address) -> Callable[..., Any]:
    """Return the function that stands there, whatever a decorator made of it."""
    function: Callable[..., Any] = _function(find(address))
    return function


def _follow(start: object, path: str) -> object:
    return reduce(getattr, path.split("."), start)


def _function(found: Any) -> Any:
    return found.function if isinstance(found, HandlerDefinition) else found


def _script(file: str) -> ModuleType:
    """Run a script under a name that is not `__main__`, so that what it guards by that name stays undone."""
    if SCRIPT in sys.modules:
        return sys.modules[SCRIPT]
    spec = spec_from_file_location(SCRIPT, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no Python file", path=file)
    module = module_from_spec(spec)
    sys.modules[SCRIPT] = module
    spec.loader.exec_module(module)
    return module
