"""The image contains only packages named by the lock files."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RECIPE = (ROOT / "deploy" / "Dockerfile").read_text().replace("\\\n", " ")
INSTALLS = re.findall(r"pip install[^&|;\n]*", RECIPE)


def test_every_installed_package_is_hashed_or_built_here() -> None:
    assert len(INSTALLS) == 4
    for words in INSTALLS:
        assert "--require-hashes" in words or {"--offline", "--no-deps", "/wheels/*.whl"} <= set(words.split())


def test_wheel_build_tools_are_in_the_lock_file() -> None:
    [pattern] = re.findall(r"grep -o '([^']*)' /src/locks/dev.lock", RECIPE)

    assert len(re.findall(pattern, (ROOT / "locks" / "dev.lock").read_text(), re.MULTILINE)) == 1


@pytest.mark.parametrize("project", [ROOT, ROOT / "apps" / "storecrawl"], ids=lambda path: path.name)
def test_wheels_are_built_with_the_command_of_the_recipe(project: Path, tmp_path: Path) -> None:
    assert "/build/bin/python -m hatchling build -t wheel -d /wheels" in RECIPE

    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)], cwd=project, check=True
    )

    assert len(list(tmp_path.glob("*.whl"))) == 1
