"""Access to buckets, error messages, and protection of secrets."""

from __future__ import annotations

from pathlib import Path

import pytest
from storecrawl.settings import CrawlSettings
from storecrawl.storage import ObjectDamaged, StorageUnreachable
from storecrawl.storage.locate import open_storage

from apps.storecrawl.tests.buckets import SECRET
from rolecall import ConfigError

HERE = Path()


def test_each_storage_has_its_own_prefix(bucket_url: str) -> None:
    open_storage(bucket_url, HERE, "payloads").put("a", b"1")

    assert list(open_storage(bucket_url, HERE, "images").list()) == []


def test_object_replaced_during_a_read_is_detected(bucket_url: str) -> None:
    storage = open_storage(bucket_url, HERE, "payloads")
    storage.put("a", b"first")
    opened = storage.open("a")
    list(opened.pieces())
    storage.delete("a")
    storage.put("a", b"second")

    with pytest.raises(ObjectDamaged, match="replaced"):
        list(opened.pieces())


def test_wrong_secret_is_reported_without_any_secret(bucket_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", f"{SECRET}-wrong")

    with pytest.raises(StorageUnreachable) as refusal:
        open_storage(bucket_url, HERE, "payloads").open("a")
    assert "PermissionDenied" in str(refusal.value)
    assert "CANARY" not in str(refusal.value)
    assert refusal.value.__cause__ is None


def test_unavailable_server_is_unreachable(bucket_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")

    with pytest.raises(StorageUnreachable):
        open_storage(bucket_url, HERE, "payloads").put("a", b"1")


@pytest.mark.parametrize("url", ["s3://", "s3://Bucket", "http://x/y", "s3://bucket/../x", "s3://key:secret@bucket/x"])
def test_malformed_bucket_url_is_rejected(url: str) -> None:
    with pytest.raises(ConfigError, match="s3://bucket/prefix"):
        CrawlSettings.from_environment({"STORECRAWL_STORE": url})


def test_bucket_settings_are_passed_to_other_processes() -> None:
    settings = CrawlSettings(store="s3://bucket/a/b", keep_last=3)

    assert CrawlSettings.from_environment(settings.to_environment()) == settings
