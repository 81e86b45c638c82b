"""Imports the App that `--app module:attribute` names."""

from __future__ import annotations

import importlib
import sys
import traceback
from difflib import get_close_matches
from functools import reduce
from pathlib import Path
from types import ModuleType

from rolecall.app import App
from rolecall.model.errors import ConfigError
from rolecall.telemetry.logs import log_package

FLAG = "--app"


def load_app(reference: str) -> App:
    """Import the module (the working directory is searched first) and return its App. Raises ConfigError.

    Its package is logged at Rolecall's level.
    """
    module_name, colon, attribute = reference.partition(":")
    if not (module_name and colon and attribute):
        raise _invalid_reference(reference, "must have the form module:attribute")
    log_package(module_name)
    module = _import(module_name, reference)
    found = _attribute(module, attribute, reference)
    if not isinstance(found, App):
        raise _invalid_reference(reference, f"is of type {type(found).__name__}, not a rolecall App")
    return found


def _import(name: str, reference: str) -> ModuleType:
    working_directory = str(Path.cwd())
    if working_directory not in sys.path:
        sys.path.insert(0, working_directory)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and f"{name}.".startswith(f"{error.name}."):
            raise _invalid_reference(reference, f"no module named {error.name}, here or installed") from None
        raise _broken(name, reference, error) from error
    except Exception as error:
        raise _broken(name, reference, error) from error


def _broken(name: str, reference: str, error: Exception) -> ConfigError:
    if isinstance(error, SyntaxError):
        problem, file, line = error.msg, error.filename or "", error.lineno
    else:
        last = traceback.extract_tb(error.__traceback__)[-1]
        problem, file, line = str(error), last.filename, last.lineno
    location = f"{type(error).__name__}: {problem} ({Path(file).name}, line {line})"
    return _invalid_reference(reference, f"importing {name} failed: {location}")


def _attribute(module: ModuleType, name: str, reference: str) -> object:
    first, *further = name.split(".")
    if hasattr(module, first):
        try:
            return reduce(getattr, further, getattr(module, first))
        except AttributeError as error:
            raise _invalid_reference(reference, f"cannot be read: {error}") from error
    apps = [attribute_name for attribute_name, value in vars(module).items() if isinstance(value, App)]
    close = get_close_matches(name, vars(module), n=1)
    hint = f"; did you mean {module.__name__}:{(apps or close)[0]}?" if apps or close else ""
    raise _invalid_reference(reference, f"module {module.__name__} has no attribute {name}{hint}")


def _invalid_reference(reference: str, problem: str) -> ConfigError:
    return ConfigError(f"{reference!r} {problem}", variable=FLAG, value=reference)
