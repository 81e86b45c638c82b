from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest

import rolecall

PACKAGES = [
    "rolecall",
    *(found.name for found in pkgutil.iter_modules(rolecall.__path__, "rolecall.") if found.ispkg),
]


@pytest.mark.parametrize("name", PACKAGES)
def test_what_a_package_exports_is_sorted(name: str) -> None:
    exported = getattr(importlib.import_module(name), "__all__", [])

    assert list(exported) == sorted(exported)


def test_each_public_name_says_what_it_is() -> None:
    public = {name: getattr(rolecall, name) for name in getattr(rolecall, "__all__", [])}
    objects = {name: found for name, found in public.items() if inspect.isclass(found) or callable(found)}

    assert [name for name, found in objects.items() if not inspect.getdoc(found)] == []
