"""Fixtures for tests of the examples."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.examples.projects import Project, make_project, project_in
from tests.packaging.installing import made_once

Make = Callable[..., Project]


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Makes the project of an example with what these words of `pip install` say, once for all processes of this run."""

    def made(example: str, *words: str) -> Project:
        base = tmp_path_factory.getbasetemp()
        folder = made_once(base, f"example-{example}", lambda folder: make_project(folder, example, *words))
        return project_in(folder, example)

    return made
