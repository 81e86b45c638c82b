"""The table of extras is correct, and error messages name the extras in the same words."""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest

from rolecall.extras import EXTRAS, is_installed, require
from rolecall.model.errors import ConfigError
from tools.offences import ROOT

NAME = re.compile(r"[\w-]+")


def declared() -> dict[str, set[str]]:
    """Return the distributions of each extra, as the package declares them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return {
        extra: {plain(found[0]) for each in wanted if (found := NAME.match(each))}
        for extra, wanted in project["optional-dependencies"].items()
    }


def plain(name: str) -> str:
    """Return a distribution's normalized name."""
    return name.lower().replace("_", "-")


def test_table_contains_the_extras_that_the_package_declares() -> None:
    assert EXTRAS.keys() == declared().keys()


def test_installation_page_lists_the_extras_with_their_purposes() -> None:
    page = (ROOT / "docs" / "installation.md").read_text("utf-8")

    assert dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", page, re.MULTILINE)) == {
        name: extra.gives for name, extra in EXTRAS.items()
    }


@pytest.mark.parametrize("name", EXTRAS)
def test_modules_of_an_extra_match_its_distributions(name: str) -> None:
    brought = packages_distributions()

    for module in EXTRAS[name].modules:
        assert declared()[name] & set(map(plain, brought[module])), module


def test_missing_extra_error_names_its_purpose_modules_and_installation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "limits", None)
    monkeypatch.setitem(sys.modules, "jinja2", None)

    assert not is_installed("web")
    with pytest.raises(ConfigError) as refused:
        require("web")

    result = "for the HTTP API and the dashboard (jinja2, limits are missing): pip install 'rolecall[web]'"
    assert str(refused.value).endswith(f"this needs the extra `web`, {result}")


@pytest.mark.parametrize(("package", "extra", "module"), [("web", "web", "fastapi"), ("django", "django", "django")])
def test_package_without_its_extra_names_the_extra(
    package: str, extra: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, f"rolecall.{package}", raising=False)

    with pytest.raises(ConfigError, match=rf"needs the extra `{extra}`"):
        importlib.import_module(f"rolecall.{package}")


def test_installed_extra_is_not_reported() -> None:
    require("redis")
