from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path
from types import ModuleType
from typing import get_origin

import pytest

import rolecall
import rolecall.cli
import rolecall.testing

PACKAGES = [
    "rolecall",
    *(found.name for found in pkgutil.iter_modules(rolecall.__path__, "rolecall.") if found.ispkg),
]


@pytest.mark.parametrize("name", PACKAGES)
def test_exports_of_a_package_are_sorted(name: str) -> None:
    exported = getattr(importlib.import_module(name), "__all__", [])

    assert list(exported) == sorted(exported)


@pytest.mark.parametrize("package", [rolecall, rolecall.testing])
def test_each_public_name_has_a_docstring(package: ModuleType) -> None:
    public = {name: getattr(package, name) for name in package.__all__}
    objects = {
        name: found
        for name, found in public.items()
        if inspect.isclass(found) or (callable(found) and get_origin(found) is None)
    }

    assert [name for name, found in objects.items() if not inspect.getdoc(found)] == []


@pytest.mark.parametrize("package", [rolecall, rolecall.cli, rolecall.testing])
def test_type_checker_lazy_and_actual_exports_of_a_package_agree(
    package: ModuleType,
) -> None:
    seen, lazy = _imports_for_type_checkers(package), _lazy_names(package)

    assert seen == lazy
    assert sorted(seen) == sorted(package.__all__)


@pytest.mark.parametrize("package", [rolecall, rolecall.cli, rolecall.testing])
def test_lazily_imported_name_is_that_of_its_module(package: ModuleType) -> None:
    for name, module in _imports_for_type_checkers(package).items():
        assert getattr(package, name) is getattr(importlib.import_module(module), name)
    assert set(package.__all__) <= set(dir(package))


def test_missing_name_raises_the_usual_attribute_error() -> None:
    nowhere = "Ap"

    with pytest.raises(AttributeError, match="module 'rolecall' has no attribute 'Ap'"):
        getattr(rolecall, nowhere)


def _imports_for_type_checkers(package: ModuleType) -> dict[str, str]:
    return {
        alias.name: node.module or ""
        for node in _branch(package).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def _lazy_names(package: ModuleType) -> dict[str, str]:
    [assignment] = _branch(package).orelse
    assert isinstance(assignment, ast.Assign)
    assert isinstance(assignment.value, ast.Call)
    table: dict[str, tuple[str, ...]] = ast.literal_eval(assignment.value.args[1])
    return {name: module for module, names in table.items() for name in names}


def _branch(package: ModuleType) -> ast.If:
    tree = ast.parse(Path(inspect.getfile(package)).read_text("utf-8"))
    [found] = [node for node in tree.body if isinstance(node, ast.If)]
    return found
