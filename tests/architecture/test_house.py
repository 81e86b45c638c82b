from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tools import house

Seed = Callable[[str, str], None]

# Put together here, so that this file does not hold what the tool looks for.
REGISTRY = "https" + "://" + "files.py" + "pi.example/simple"
MACHINE_PATH = "/" + "root/thing"
SECRET = "AKIA" + "A" * 16


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("docs/a.md", f"see {REGISTRY}"),
        ("docs/a.md", f"it stands in {MACHINE_PATH}"),
        ("deploy/a.yaml", f"key: {SECRET}"),
        ("locks/run.lock", "a @ ftp://somewhere/a.whl"),
        ("locks/dev.lock", "--index-url somewhere"),
        ("src/rolecall/worker/run.py", "menu = 1"),
        ("src/rolecall/model/task.py", "import psycopg"),
        ("src/rolecall/model/task.py", "from rolecall.sql import tasks"),
        ("src/rolecall/model/task.py", "from typing_extensions import TypeVar\nif TYPE_CHECKING:\n    import json"),
    ],
)
def test_forbidden_constructs_are_reported(tmp_path: Path, seed: Seed, place: str, text: str) -> None:
    seed(place, f"\n{text}\n")

    [found] = house.offences(tmp_path)

    assert (found.path, found.line) == (tmp_path / place, 2)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("apps/storecrawl/src/a.py", "menu = 1"),
        ("src/rolecall/db/serve.py", "from types import MappingProxyType"),
        ("src/rolecall/db/serve.py", "proxy = 1  # house: a connection pooler's word"),
        ("src/rolecall/model/task.py", "from rolecall.model.ids import TaskId"),
        ("src/rolecall/model/task.py", "if TYPE_CHECKING:\n    from typing_extensions import TypeVar"),
        ("docs/a.md", "GET /api/work/ and https://example.org/"),
    ],
)
def test_permitted_constructs_are_not_reported(tmp_path: Path, seed: Seed, place: str, text: str) -> None:
    seed(place, text)

    assert not list(house.offences(tmp_path))
