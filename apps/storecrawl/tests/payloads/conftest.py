"""Crawl payload files in a temporary folder, and a document that does not compress to nothing."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest
from storecrawl.payloads import PayloadStore
from storecrawl.storage import FolderStorage


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "data" / "payloads"


@pytest.fixture
def store(root: Path) -> PayloadStore:
    return PayloadStore(FolderStorage(root))


@pytest.fixture
def document() -> bytes:
    chance = random.Random(7)
    return msgspec.json.encode([{"id": chance.randbytes(12).hex(), "price": n} for n in range(1_500)])
