"""The recipes of CONTRIBUTING.md are complete: each `.diff` carries one out, in a copy of the tree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from rolecall.testing import TestServer
from rolecall.testing.servers import VARIABLE

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
MOST_FILES_OF_A_FIELD = 10
COPIED = ("apps", "docs", "locks", "src", "tests", "tools")
SCHEMA = "src/rolecall/sql/schema/"
EVENTS = "tests/scenarios/test_events.py::"


@dataclass(frozen=True, slots=True)
class Recipe:
    """A recipe's heading, and tests that pass only with its change."""

    heading: str
    tests: tuple[str, ...]
    is_after_a_release: bool = False

    def changed_files(self) -> set[str]:
        """Return the files at the start of its steps."""
        text = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split(f"## {self.heading}\n")[1].split("\n## ")[0]
        return set(re.findall(r"^\d+\. `(\S+)`", text, re.MULTILINE))


RECIPES = {
    "field": Recipe("Add a field to a task", ("tests/recipes/field_checks.py",)),
    "role_setting": Recipe(
        "Add a setting to a role",
        (
            "tests/recipes/role_setting_checks.py",
            "tests/sql/test_checks.py::test_every_check_constraint_has_an_illegal_change",
        ),
    ),
    "event": Recipe(
        "Add an event",
        (
            f"{EVENTS}test_new_completion_token_emits_an_event",
            f"{EVENTS}test_documented_list_names_each_event_once",
            f"{EVENTS}test_each_event_type_is_covered_in_this_file",
            "tests/telemetry/test_emitter.py::test_every_event_type_has_a_message_and_the_level_of_its_name",
            "tests/telemetry/test_prometheus.py::test_reference_contains_exactly_the_existing_metrics",
        ),
    ),
    "migration": Recipe(
        "Add a migration",
        ("tests/recipes/migration_checks.py", "tests/sql/test_schema.py"),
        is_after_a_release=True,
    ),
    "extra": Recipe("Add an extra", ("tests/recipes/extra_checks.py", "tests/packaging/test_extras.py")),
}


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of the tree, and the server for its tests."""

    folder: Path
    server: TestServer

    def run(self, *command: str) -> None:
        """Run a command in the copy, which must succeed."""
        apart = ("PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS")
        environment = {name: value for name, value in os.environ.items() if name not in apart} | {
            "PYTHONPATH": f"{self.folder / 'src'}{os.pathsep}{self.folder}",
            VARIABLE: self.server.dsn("postgres"),
        }
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout


@pytest.fixture
def copy(tmp_path: Path, postgres_server: TestServer) -> Copy:
    for name in COPIED:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return Copy(tmp_path, postgres_server)


@pytest.mark.parametrize("name", RECIPES)
def test_change_of_a_recipe_works(copy: Copy, name: str) -> None:
    recipe = RECIPES[name]
    schema = (sys.executable, "-m", "tools.schema")
    if recipe.is_after_a_release:
        copy.run(*schema, "--freeze")
    copy.run("git", "init", "--quiet")
    copy.run("git", "apply", "-C1", str(HERE / f"{name}.diff"))
    if any(file.startswith(SCHEMA) for file in recipe.changed_files()):
        copy.run(*schema)

    copy.run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *recipe.tests)


@pytest.mark.parametrize("name", RECIPES)
def test_recipe_names_each_changed_file(name: str) -> None:
    changed = re.findall(r"^diff --git a/(\S+)", (HERE / f"{name}.diff").read_text("utf-8"), re.MULTILINE)

    assert RECIPES[name].changed_files() == set(changed)


def test_field_that_callers_set_changes_at_most_ten_files() -> None:
    assert len(RECIPES["field"].changed_files()) <= MOST_FILES_OF_A_FIELD
