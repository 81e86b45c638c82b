from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenarios.victims import Victims
from tests.worker.bench import Bench
from tests.worker.conftest import bench

__all__ = ["bench", "victims"]


@pytest.fixture
def victims(bench: Bench, tmp_path: Path) -> Victims:
    return Victims(bench, tmp_path)
