"""docs/stability.md lists every public name, so that a change of the public interface shows in its diff."""

from __future__ import annotations

import importlib
import re

import pytest

from tools.engine import Engine
from tools.offences import ROOT
from tools.reference import python_api

PAGE = (ROOT / "docs" / "stability.md").read_text("utf-8")
MODULES = ["rolecall", *(module.path for module in python_api.public_modules(python_api.read(ROOT / "src")))]


@pytest.mark.parametrize("module", MODULES)
def test_every_exported_name_of_a_module_is_listed(module: str) -> None:
    exported = importlib.import_module(module).__all__

    assert sorted(exported) == sorted(names_after(f"From `{module}`:"))


def test_every_public_sql_function_is_listed_as_stable_or_internal() -> None:
    headings = ("Functions:", "Views:", "These functions are called by our own servers, clients and workers.")
    listed = [name for heading in headings for name in names_after(heading)]

    assert sorted(listed) == sorted({made.name for made in Engine.read(ROOT).objects if made.is_public} | {"all_tasks"})


def names_after(heading: str) -> list[str]:
    """Return the names in the paragraph after a heading line."""
    _, _, rest = PAGE.partition(f"\n{heading}")
    return re.findall(r"`(\w+)`", rest.partition("\n\n")[2].partition("\n\n")[0])
