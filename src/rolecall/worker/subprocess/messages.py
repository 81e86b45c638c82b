"""The messages between a worker and its child processes, and the addresses of functions and context variables."""

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
from rolecall.worker.verdicts import Verdict

MAIN = "__main__"
SCRIPT = "__rolecall_main__"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTask:
    """Import the handler at this address, to run this task when `Go` follows."""

    address: Address
    task: ClaimedTask
    worker_id: int
    strict: bool = True
    carried: Carried = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """The handler is imported and waits for `Go`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Go:
    """Call the handler now: the attempt has started."""

    carried: Carried = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFunction:
    """Call the function at this address for a handler that waits for it."""

    address: Address
    arguments: tuple[object, ...]
    named: dict[str, object]
    carried: Carried = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """The handler's result as JSON text."""

    result_json: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoTaskResult:
    """The handler returned a NoResult, such as a Snooze."""

    outcome: NoResult


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorAnswer:
    """The handler or function raised, could not be called, or returned something that cannot be sent."""

    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnValue:
    """The function's result, pickled."""

    pickled: bytes


Request = RunTask | Go | CallFunction
Answer = Ready | TaskResult | NoTaskResult | ErrorAnswer | ReturnValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """The address of a function or of its handler definition; `location` is a module or a script file."""

    location: str
    is_file: bool
    name: str


# Context variables with their pickled values. The modules of the values' types are imported only when they are read.
Carried = tuple[tuple[Address, bytes], ...]


def address_of(function: Callable[..., object], *, what: str) -> Address:
    """Return the address of a function.

    Raises InvalidDeclaration, with `what` in the message, if another process could not import it.
    """
    module, name = function.__module__, function.__qualname__
    try:
        found = _follow(sys.modules.get(module), name)
    except AttributeError:
        found = None
    if _function(found) is not function:
        raise InvalidDeclaration(f"{what} cannot run in a process: {module}.{name} is not its function")
    return _address(module, name, f"{what} cannot run in a process")


def address_of_variable(variable: ContextVar[Any]) -> Address:
    """Return the address of a context variable. Raises InvalidDeclaration if no module has it."""
    problem = f"context variable {variable.name!r} cannot be carried into a process"
    for module, home in list(sys.modules.items()):
        for name, value in list(getattr(home, "__dict__", {}).items()):
            if value is variable:
                return _address(module, name, problem)
    raise InvalidDeclaration(f"{problem}: it is not at the top level of a module")


def _address(module: str, name: str, problem: str) -> Address:
    if module != MAIN:
        return Address(location=module, is_file=False, name=name)
    home = sys.modules[module]
    spec, file = getattr(home, "__spec__", None), getattr(home, "__file__", None)
    if spec is None and file is None:
        raise InvalidDeclaration(f"{problem}: its module has no file")
    return Address(location=spec.name if spec else str(file), is_file=spec is None, name=name)


def find(address: Address) -> object:
    """Import the module, or run the script file once, and return the object at this address."""
    module = _script(address.location) if address.is_file else import_module(address.location)
    return _follow(module, address.name)


def function_at(address: Address) -> Callable[..., Any]:
    """Return the function at this address, without decorators."""
    function: Callable[..., Any] = _function(find(address))
    return function


def _follow(start: object, path: str) -> object:
    return reduce(getattr, path.split("."), start)


def _function(found: Any) -> Any:
    return found.function if isinstance(found, HandlerDefinition) else found


def _script(file: str) -> ModuleType:
    if SCRIPT in sys.modules:
        return sys.modules[SCRIPT]
    spec = spec_from_file_location(SCRIPT, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is not a Python file", path=file)
    module = module_from_spec(spec)
    sys.modules[SCRIPT] = module
    spec.loader.exec_module(module)
    return module
