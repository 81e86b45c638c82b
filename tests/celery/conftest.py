"""The sample shop after its imports are changed, and workers that run it."""

from __future__ import annotations

import importlib
import re
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rolecall.celery import program
from rolecall.testing import working
from tools.offences import ROOT

SAMPLE = ROOT / "packages" / "rolecall-import" / "tests" / "samples" / "celery"
IMPORTS = re.compile(r"^(from|import) celery\b", re.MULTILINE)
Work = Callable[[Any], AbstractAsyncContextManager[object]]


@pytest.fixture
def moved(tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the shop, in which only the imports were changed. Each test imports it again."""
    shutil.copytree(SAMPLE / "shop", tmp_path / "shop", ignore=shutil.ignore_patterns("__pycache__"))
    for file in (tmp_path / "shop").glob("*.py"):
        file.write_text(IMPORTS.sub(r"\1 rolecall.celery", file.read_text()))
    monkeypatch.setenv("DATABASE_URL", database)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = dict(program.SHARED)
    # Other tests import modules of the same name.
    forget_shop()
    yield tmp_path
    program.SHARED.clear()
    program.SHARED.update(before)
    forget_shop()


def forget_shop() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]:
        del sys.modules[name]


@pytest.fixture
def shop(moved: Path) -> Iterator[ModuleType]:
    app = importlib.import_module("shop.app").app
    app.finalize()
    yield importlib.import_module("shop.tasks")
    app.client.close()


@pytest.fixture
def at_work(database: str) -> Work:
    """Run a worker of a Celery app during the block."""

    @asynccontextmanager
    async def work(app: Any) -> AsyncIterator[object]:
        async with working(app.rolecall, database) as worker:
            yield worker

    return work
