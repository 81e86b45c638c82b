"""`./dev release` builds valid distributions, and rejects a tree or a changelog that is not ready."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools.release import (
    KINDS,
    PROJECTS,
    Kind,
    build,
    changelog_problems,
    metadata_problems,
    tree_problems,
    version_problems,
)

READY = "# Changelog\n\n## Unreleased\n\n## 0.1.0\n\n- Tasks.\n"


@pytest.mark.parametrize("project", PROJECTS)
@pytest.mark.parametrize("kind", KINDS)
def test_wheel_and_sdist_have_valid_metadata(project: str, kind: Kind, tmp_path: Path) -> None:
    assert list(metadata_problems(build(project, kind, tmp_path))) == []


def test_changelog_with_a_section_for_the_version_is_accepted() -> None:
    assert list(changelog_problems(READY, {"0.1.0"})) == []


def test_version_without_a_section_is_rejected() -> None:
    assert list(changelog_problems(READY, {"0.2.0"})) == ["the changelog has no entries for 0.2.0"]


def test_unreleased_entries_are_rejected() -> None:
    text = READY.replace("## Unreleased\n", "## Unreleased\n\n- A new option.\n")

    [problem] = changelog_problems(text, {"0.1.0"})

    assert 'entries under "Unreleased"' in problem


def test_different_versions_are_rejected() -> None:
    assert list(version_problems({"0.1.0", "0.2.0"})) == ["the distributions have different versions: 0.1.0, 0.2.0"]


def test_uncommitted_changes_are_rejected(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    (tmp_path / "new.txt").write_text("new")

    assert list(tree_problems(tmp_path)) == ["the work tree has uncommitted changes"]
