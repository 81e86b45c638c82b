"""The reference documents every public name, found here by a second method."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

import rolecall
from rolecall.cli.main import build
from rolecall.cli.verbs import COMMANDS, Noun
from rolecall.model import errors
from rolecall.telemetry import EventType
from tests.web.matrix import read_table
from tools.offences import ROOT
from tools.reference import python_api

# The package itself, and the files that Python adds to it.
OWN = {"__init__", "__pycache__"}
HERE = Path(inspect.getfile(rolecall)).parent
MODULES = sorted({path.stem for path in HERE.iterdir() if path.suffix in {"", ".py"}} - python_api.INSIDE - OWN)
ROUTES = ROOT / "tests" / "web" / "routes.txt"
# Internal errors of the engine, which rolls back and retries.
CAUGHT_INSIDE = {"RC090", "RC091"}
QUOTED = re.compile(r"\"([A-Z_]+)\"")
CONVERTER = re.compile(r":\w+\}")
WORDS_OF_COMMANDS = [
    f"{each.name} {verb.name}" if verb else each.name
    for each in COMMANDS
    for verb in (each.verbs if isinstance(each, Noun) else (None,))
]


def headings(pages: Mapping[str, str], beginning: str) -> str:
    return "\n".join(
        line
        for place, text in pages.items()
        if place.startswith(beginning)
        for line in text.splitlines()
        if line.startswith("#")
    )


def test_each_exported_name_of_rolecall_is_documented(reference: Mapping[str, str]) -> None:
    result = headings(reference, "reference/python/")

    assert [name for name in rolecall.__all__ if f"## `{name}` {{#{name}}}" not in result] == []


@pytest.mark.parametrize("module", MODULES)
def test_each_exported_name_of_a_public_module_is_documented(reference: Mapping[str, str], module: str) -> None:
    result = headings(reference, f"reference/python/rolecall.{module}.md")
    exported = importlib.import_module(f"rolecall.{module}").__all__

    assert [name for name in exported if f"## `{name}` {{#{name}}}" not in result] == []


def test_each_public_method_is_documented(reference: Mapping[str, str]) -> None:
    result = headings(reference, "reference/python/")
    classes = [found for name in rolecall.__all__ if inspect.isclass(found := getattr(rolecall, name))]

    missing = [
        f"{each.__name__}.{name}"
        for each in classes
        for name, _ in inspect.getmembers(each, inspect.isfunction)
        if not name.startswith("_")
        and any(name in vars(base) for base in each.__mro__ if base.__module__.startswith("rolecall"))
        and f"{{#{each.__name__}.{name}}}" not in result
    ]

    assert missing == []


def test_every_public_module_has_a_page(reference: Mapping[str, str]) -> None:
    pages = {place for place in reference if place.startswith("reference/python/rolecall.")}

    assert {f"reference/python/rolecall.{name}.md" for name in MODULES} == pages


def test_each_public_sql_function_is_documented(reference: Mapping[str, str]) -> None:
    files = (ROOT / "src/rolecall/sql/functions").rglob("*.sql")
    marked = re.compile(r"^-- public: yes\n(?:--.*\n)*create or replace \w+ rolecall\.(\w+)", re.MULTILINE)
    public = [name for file in files for name in marked.findall(file.read_text("utf-8"))]

    result = headings(reference, "reference/sql/")

    assert len(public) > 100
    assert [name for name in public if f"{{#{name}}}" not in result] == []


def test_each_route_is_documented_with_its_scope(reference: Mapping[str, str]) -> None:
    lines = reference["reference/http.md"].splitlines()
    table = [(f"`{entry.method} {CONVERTER.sub('}', entry.path)}`", entry.needs) for entry in read_table(ROUTES)]

    missing = [
        (route, scope) for route, scope in table if not any(route in line and f"| {scope} |" in line for line in lines)
    ]

    assert missing == []


@pytest.mark.parametrize("words", WORDS_OF_COMMANDS)
def test_each_command_is_documented_with_its_complete_help(
    reference: Mapping[str, str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    build()([*words.split(), "--help"], prog_name="rolecall", standalone_mode=False)
    options = set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", capsys.readouterr().out, re.MULTILINE))

    page = reference["reference/cli.md"]
    [section] = [part for part in page.split("\n## ") if part.startswith(f"`rolecall {words}` ")]
    [shared] = [part for part in page.split("\n## ") if part.startswith("Options of every command")]

    assert options
    assert [option for option in options if option not in section + shared] == []


def test_each_setting_is_documented_with_its_alternate_names(reference: Mapping[str, str]) -> None:
    texts = [file.read_text("utf-8") for file in (ROOT / "src/rolecall/config").glob("*.py")]
    names = [name for text in texts for name in re.findall(r"\bname=\"([A-Z_]+)\"", text)]
    aliases = [
        alias for text in texts for found in re.findall(r"aliases=\((.*)\)", text) for alias in QUOTED.findall(found)
    ]

    result = reference["reference/settings.md"]

    assert len(names) > 30
    assert [name for name in names if f"| `{name}` |" not in result] == []
    assert [alias for alias in aliases if f"`{alias}`" not in result] == []


def test_each_error_is_documented(reference: Mapping[str, str]) -> None:
    result = headings(reference, "reference/errors.md")
    known = [name for name, found in inspect.getmembers(errors, inspect.isclass) if issubclass(found, Exception)]

    assert [name for name in known if f"## `{name}`" not in result] == []


def test_each_sqlstate_of_the_engine_is_documented(reference: Mapping[str, str]) -> None:
    files = (ROOT / "src/rolecall/sql/functions").rglob("*.sql")
    raised = {code for file in files for code in re.findall(r"'(RC\d{3})'", file.read_text("utf-8"))}

    assert {code for code in raised - CAUGHT_INSIDE if f"`{code}`" not in reference["reference/errors.md"]} == set()


def test_each_event_is_documented() -> None:
    result = (ROOT / "docs/reference/events.md").read_text("utf-8")

    assert [event for event in EventType if f"| `{event}` |" not in result] == []
