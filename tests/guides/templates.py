"""Lets the tests of a guide, which run in a process of their own, use the template of this run."""

from __future__ import annotations

from pathlib import Path

# Migrating a template of its own would take seconds.
READY = """
import pytest

from rolecall.db.migrator import ROLECALL
from rolecall.testing import servers

servers.TEMPLATES[ROLECALL.name,] = {template!r}


@pytest.fixture(scope="session")
def database_template():
    return {template!r}
"""


def reuse_template(conftest: Path, template: str) -> None:
    """Append the template's name to the guide's own file."""
    with conftest.open("a") as written:
        written.write(READY.format(template=template))
