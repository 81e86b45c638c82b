"""Large results in a real bucket."""

from __future__ import annotations

from pathlib import Path

import pytest

from apps.storecrawl.tests.buckets import BUCKET, SECRET, serving_buckets
from rolecall.model.errors import ResultMissing
from rolecall.results import open_store


def test_an_object_is_kept_and_read_and_an_error_tells_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving_buckets(tmp_path) as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        store = open_store(f"s3://{BUCKET}/results")
        store.put("7-1.json", b"[1]")

        assert (store.url, store.get("7-1.json")) == (f"s3://{BUCKET}/results", b"[1]")
        with pytest.raises(ResultMissing) as missing:
            store.get("8-1.json")
        assert SECRET not in str(missing.value)
