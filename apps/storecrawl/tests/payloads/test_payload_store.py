"""Writing, finding and reading back crawl payload files."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
import zstandard
from storecrawl.payloads import (
    Limits,
    PayloadMissing,
    PayloadOutsideRoot,
    PayloadStore,
    PayloadTooLarge,
    PayloadUnreachable,
)
from storecrawl.storage import FolderStorage

from apps.storecrawl.tests.payload_files import document_of


def test_written_document_can_be_read(store: PayloadStore, document: bytes) -> None:
    written = store.write(7, document, task_id=41, attempt=2)

    assert store.read(written.path, written.sha256, written.size_raw) == document


def test_written_payload_has_the_facts_for_its_row(store: PayloadStore, root: Path, document: bytes) -> None:
    written = store.write(7, document, task_id=41, attempt=2)

    assert written.size_raw == len(document)
    assert written.size_gz == (root / written.path).stat().st_size
    assert written.sha256 == hashlib.sha256(document).hexdigest()


def test_file_is_named_by_the_checksum_of_its_document(store: PayloadStore, document: bytes) -> None:
    written = store.write(7, document, task_id=41, attempt=2)

    assert written.path == f"store_7/{written.sha256}.json.zst"


def test_any_zstd_reader_can_read_a_full_file(store: PayloadStore, root: Path, document: bytes) -> None:
    written = store.write(7, document, task_id=1, attempt=1)

    assert zstandard.decompress((root / written.path).read_bytes()) == document


def test_equal_documents_of_a_store_share_a_file(store: PayloadStore, root: Path, document: bytes) -> None:
    first = store.write(7, document, task_id=1, attempt=1)
    again = store.write_again(7, first.path, first.sha256, first.size_raw, task_id=2, attempt=1)
    other = store.write(8, document, task_id=3, attempt=1)

    assert first == again == store.write(7, document, task_id=4, attempt=1)
    assert len(_files(root)) == 2
    assert other.path != first.path


def test_changed_document_is_stored_as_a_small_difference(store: PayloadStore, root: Path, document: bytes) -> None:
    changed = document.replace(b'"price":7', b'"price":8')
    base = store.write(7, document, task_id=1, attempt=1)
    written = store.write(7, changed, task_id=2, attempt=1, base=base.path)

    assert store.read(written.path, written.sha256, written.size_raw) == changed == document_of(root, written.path)
    assert written.base_path == base.path
    assert written.size_gz < 0.1 * base.size_gz


def test_existing_difference_is_recorded_with_its_own_base(store: PayloadStore, document: bytes) -> None:
    base = store.write(7, document, task_id=1, attempt=1)
    first = store.write(7, document + b" ", task_id=2, attempt=1, base=base.path)

    assert store.write(7, document + b" ", task_id=3, attempt=1, base=first.path) == first


@pytest.mark.parametrize("unusable", ["missing", "damaged", "a difference", "another document"])
def test_full_file_is_written_if_its_base_cannot_be_used(
    store: PayloadStore, root: Path, document: bytes, unusable: str
) -> None:
    base = store.write(7, document, task_id=1, attempt=1)
    path = base.path
    if unusable == "missing":
        (root / path).unlink()
    elif unusable == "damaged":
        (root / path).write_bytes(b"damaged")
    elif unusable == "a difference":
        path = store.write(7, document + b" ", task_id=2, attempt=1, base=path).path
    else:
        path = store.write(7, os.urandom(100_000), task_id=2, attempt=1).path

    written = store.write(7, document + b"  ", task_id=3, attempt=1, base=path)

    assert written.base_path is None
    assert store.read(written.path, written.sha256, written.size_raw) == document + b"  "


def test_damaged_file_is_replaced_by_the_next_writer(store: PayloadStore, root: Path, document: bytes) -> None:
    written = store.write(7, document, task_id=1, attempt=1)
    (root / written.path).write_bytes(b"damaged")

    assert store.write(7, document, task_id=2, attempt=1) == written
    assert store.read(written.path, written.sha256, written.size_raw) == document


def test_write_leaves_only_its_file(store: PayloadStore, root: Path, document: bytes) -> None:
    written = store.write(7, document, task_id=1, attempt=1)

    assert _files(root) == [root / written.path]


def test_failed_write_leaves_nothing(
    store: PayloadStore, root: Path, document: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    (root / "store_7").mkdir(parents=True)
    with pytest.raises(PayloadUnreachable, match="No space left"):
        store.write(7, document, task_id=1, attempt=1)

    assert not _files(root)


def test_document_too_large_to_be_read_is_not_written(root: Path) -> None:
    store = PayloadStore(FolderStorage(root), limits=Limits(max_bytes=1_000))

    with pytest.raises(PayloadTooLarge):
        store.write(7, os.urandom(1_001), task_id=1, attempt=1)
    assert not root.exists()


def test_folder_that_links_outside_the_root_is_not_written_to(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    root.mkdir(parents=True)
    (root / "store_7").symlink_to(outside)
    store = PayloadStore(FolderStorage(root))

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
        store.read("store_1/0.json.zst", "0" * 64, 1)


def _files(root: Path) -> list[Path]:
    return [file for file in root.rglob("*") if file.is_file()]
