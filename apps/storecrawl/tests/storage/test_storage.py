"""The contract of file storage, for folders and buckets."""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from storecrawl.storage import (
    FolderStorage,
    ObjectExists,
    ObjectMissing,
    ObjectOutsideRoot,
    Storage,
    StorageUnreachable,
    folder,
    old_objects,
)

CONTENT = os.urandom(200_000)


def test_stored_object_can_be_read_repeatedly(storage: Storage) -> None:
    storage.put("a/b.bin", CONTENT)
    opened = storage.open("a/b.bin")

    assert opened.size == len(CONTENT)
    assert [b"".join(opened.pieces()) for _ in range(2)] == [CONTENT, CONTENT]
    opened.close()


def test_content_is_streamed_in_pieces(storage: Storage) -> None:
    storage.put("large", CONTENT)

    assert len(list(storage.open("large").pieces())) > 1


def test_existing_path_is_rejected_and_its_object_unchanged(storage: Storage) -> None:
    storage.put("a", b"first")

    with pytest.raises(ObjectExists):
        storage.put("a", b"second")
    assert b"".join(storage.open("a").pieces()) == b"first"


def test_only_one_of_many_concurrent_puts_succeeds(storage: Storage) -> None:
    won: list[bytes] = []

    def put(content: bytes) -> None:
        try:
            storage.put("contested", content)
        except ObjectExists:
            return
        won.append(content)

    threads = [threading.Thread(target=put, args=(bytes([number]) * 100,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(won) == 1
    assert b"".join(storage.open("contested").pieces()) == won[0]


def test_nonexistent_object_is_missing(storage: Storage) -> None:
    with pytest.raises(ObjectMissing):
        storage.open("a/b")


def test_existence_of_an_object_is_reported(storage: Storage) -> None:
    storage.put("a/b", b"")

    assert (storage.exists("a/b"), storage.exists("a/c")) == (True, False)


def test_deleted_object_is_gone_and_can_be_deleted_again(storage: Storage) -> None:
    storage.put("a", b"1")
    storage.delete("a")
    storage.delete("a")

    assert not storage.exists("a")


def test_look_at_a_usable_storage_stores_nothing(storage: Storage) -> None:
    storage.look()

    assert list(storage.list()) == []


def test_folder_that_became_a_file_is_unreachable(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"")

    with pytest.raises(StorageUnreachable, match="data is not a folder in which this user may write"):
        FolderStorage(tmp_path / "data" / "payloads").look()


def test_folder_on_an_almost_full_disk_is_unreachable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "LEAST_FREE", 2**62)

    with pytest.raises(StorageUnreachable, match="its disk has only [0-9,]+ free bytes"):
        FolderStorage(tmp_path).look()


@pytest.mark.parametrize("path", ["../a", "/a", "a/../b", "a//b", "", "a/", "a\x00b", "./a"])
def test_path_outside_the_root_is_rejected(storage: Storage, path: str) -> None:
    for use in (storage.open, storage.exists, storage.delete, lambda path: storage.put(path, b"")):
        with pytest.raises(ObjectOutsideRoot):
            use(path)


def test_all_objects_are_listed_with_their_times(storage: Storage) -> None:
    for path in ("a", "b/c", "b/d/e"):
        storage.put(path, b"1")

    found = {each.path: each.modified_at for each in storage.list()}

    assert sorted(found) == ["a", "b/c", "b/d/e"]
    assert all(abs(at - datetime.now(UTC)) < timedelta(minutes=1) for at in found.values())


def test_only_old_files_of_this_program_can_be_orphans(storage: Storage) -> None:
    for path in ("x/ours", "x/other", "x/tmp.0123"):
        storage.put(path, b"1")
    later = datetime.now(UTC) + timedelta(minutes=1)

    found = [path for batch in old_objects(storage, "ours".__eq__, later) for path in batch]

    assert sorted(found) == ["x/ours", "x/tmp.0123"]
    assert list(old_objects(storage, "ours".__eq__, later - timedelta(hours=1))) == []
