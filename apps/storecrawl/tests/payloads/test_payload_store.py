"""Writing, finding and reading back crawl payload files."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from storecrawl.payloads import (
    Limits,
    PayloadMissing,
    PayloadOutsideRoot,
    PayloadStore,
    PayloadTooLarge,
    PayloadUnreachable,
)
from storecrawl.storage import FolderStorage


def test_written_document_can_be_read(store: PayloadStore, document: bytes) -> None:
    written = store.write(7, document, task_id=41, attempt=2)

    assert store.read(written.path, written.sha256, written.size_raw) == document


def test_written_payload_has_the_facts_for_its_row(store: PayloadStore, root: Path, document: bytes) -> None:
    written = store.write(7, document, task_id=41, attempt=2)

    assert written.size_raw == len(document)
    assert written.size_gz == (root / written.path).stat().st_size
    assert written.sha256 == hashlib.sha256(document).hexdigest()


def test_path_consists_of_the_utc_day_and_numbers(root: Path) -> None:
    late = datetime(2026, 3, 1, 20, 0, tzinfo=timezone(timedelta(hours=-8)))
    written = PayloadStore(FolderStorage(root), clock=lambda: late).write(7, b"{}", task_id=41, attempt=2)

    assert re.fullmatch(r"2026/03/02/store_7_41_2_[0-9a-f]{16}\.json\.gz", written.path)


def test_any_gzip_reader_can_read_a_payload_file(store: PayloadStore, root: Path, document: bytes) -> None:
    written = store.write(7, document, task_id=1, attempt=1)

    assert gzip.decompress((root / written.path).read_bytes()) == document


def test_equal_documents_give_equal_bytes_in_separate_files(store: PayloadStore, root: Path, document: bytes) -> None:
    first, second = (store.write(7, document, task_id=1, attempt=1) for _ in range(2))

    assert first.path != second.path
    assert (root / first.path).read_bytes() == (root / second.path).read_bytes()


def test_write_leaves_only_its_file(store: PayloadStore, root: Path, document: bytes) -> None:
    written = store.write(7, document, task_id=1, attempt=1)

    assert [file for file in root.rglob("*") if file.is_file()] == [root / written.path]


def test_failed_write_leaves_nothing(
    store: PayloadStore, root: Path, document: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    (root / datetime.now(UTC).strftime("%Y/%m/%d")).mkdir(parents=True)
    with pytest.raises(PayloadUnreachable, match="No space left"):
        store.write(7, document, task_id=1, attempt=1)

    assert not [file for file in root.rglob("*") if file.is_file()]


def test_document_too_large_to_be_read_is_not_written(root: Path) -> None:
    store = PayloadStore(FolderStorage(root), limits=Limits(max_bytes=1_000))

    with pytest.raises(PayloadTooLarge):
        store.write(7, os.urandom(1_001), task_id=1, attempt=1)
    assert not root.exists()


def test_day_folder_that_links_outside_the_root_is_not_written_to(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    root.mkdir(parents=True)
    (root / "2026").symlink_to(outside)
    store = PayloadStore(FolderStorage(root), clock=lambda: datetime(2026, 1, 1, tzinfo=UTC))

    with pytest.raises(PayloadOutsideRoot):
        store.write(7, b"{}", task_id=1, attempt=1)
    assert not list(outside.iterdir())


def test_deleted_file_is_missing(store: PayloadStore, root: Path, document: bytes) -> None:
    written = store.write(7, document, task_id=1, attempt=1)
    (root / written.path).unlink()

    with pytest.raises(PayloadMissing):
        store.read(written.path, written.sha256, written.size_raw)


def test_file_is_missing_without_a_root(store: PayloadStore) -> None:
    with pytest.raises(PayloadMissing):
        store.read("2026/01/01/store_1_1_1_0123456789abcdef.json.gz", "0" * 64, 1)
