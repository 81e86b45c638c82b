"""Menus to test with: generated ones, and captured menus of real stores if `CAPTURED_MENUS` names their folders.

Captures may not be copied into the repository. The first part of a file's name is its form. Several folders are
separated as in PATH.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from storecrawl.catalog.normalize import Menu, normalize, parse_document

from apps.storecrawl.tests.menu_forms import MENUS, OTHERS

MENU_FORMS = ("graphql", "plus", "joint", "legacy")
PLATFORM_FORMS = ("dispense", "weedmaps", "jane")
OTHER_FORMS = ("foreign", "flat", "stores")


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A document with its file name; `read` returns its bytes."""

    name: str
    read: Callable[[], bytes]

    def __str__(self) -> str:
        return self.name

    @property
    def records(self) -> list[Any]:
        """The products without their wrapper."""
        found = json.loads(self.read(), parse_float=Decimal)
        for name in ("data", "filteredProducts", "products_list", "products"):
            found = found.get(name, found) if isinstance(found, dict) else found
        return list(found)

    @property
    def menu(self) -> Menu:
        return normalize(parse_document(self.read()))


def samples(*forms: str) -> list[Sample]:
    """Return the documents of the given forms."""
    return [sample for sample in _generated() + _captured() if sample.name.startswith(forms)]


def _generated() -> list[Sample]:
    return [Sample(name=name, read=read) for name, read in (MENUS | OTHERS).items()]


def captured_file(name: str) -> Path:
    """Return the path of a capture; skip the test if no folder has it."""
    found = next((folder / name for folder in _folders() if (folder / name).is_file()), None)
    return found or pytest.skip(f"no folder of CAPTURED_MENUS has {name}")


def _captured() -> list[Sample]:
    files = sorted(file for folder in _folders() for file in folder.iterdir())
    return [Sample(name=_form_first(file.name), read=file.read_bytes) for file in files if file.suffix != ".md"]


def _folders() -> list[Path]:
    return [Path(folder) for folder in os.environ.get("CAPTURED_MENUS", "").split(os.pathsep) if folder]


def _form_first(name: str) -> str:
    """Return a name that begins with its form: captures of platforms were foreign before these were read."""
    plain = name.removeprefix("foreign-")
    return plain if plain.startswith(PLATFORM_FORMS) else name
