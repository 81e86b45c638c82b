"""Both kinds of storage: a folder, and a bucket of a real S3 server."""

from __future__ import annotations

from pathlib import Path

import pytest
from storecrawl.storage import Storage
from storecrawl.storage.locate import open_storage


@pytest.fixture(params=["folder", "bucket"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    url = request.getfixturevalue("bucket_url") if request.param == "bucket" else ""
    return open_storage(url, tmp_path, "payloads")
