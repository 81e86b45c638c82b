"""Finding possible orphans."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from storecrawl.payloads import PayloadStore

DAY_OLD = (datetime.now(UTC) - timedelta(hours=25)).timestamp()


def _old(store: PayloadStore) -> list[str]:
    return [path for batch in store.old_files(timedelta(hours=24)) for path in batch]


def _age(file: Path) -> None:
    os.utime(file, (DAY_OLD, DAY_OLD))


def test_old_file_can_be_an_orphan(store: PayloadStore, root: Path) -> None:
    written = store.write(1, b"{}", task_id=1, attempt=1)
    _age(root / written.path)

    assert _old(store) == [written.path]


def test_young_file_is_no_orphan_as_its_row_may_follow(store: PayloadStore, root: Path) -> None:
    store.write(1, b"{}", task_id=1, attempt=1)

    assert _old(store) == []


def test_old_temporary_file_is_an_orphan(store: PayloadStore, root: Path) -> None:
    left = root / "2026" / "01" / "01" / "tmp.0123"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half")
    _age(left)

    assert _old(store) == ["2026/01/01/tmp.0123"]


@pytest.mark.parametrize("name", ["notes.txt", "0123.json.zst", f"{0:064x}.csv.zst"])
def test_files_of_other_programs_are_ignored(store: PayloadStore, root: Path, name: str) -> None:
    root.mkdir(parents=True)
    (root / name).write_bytes(b"")
    _age(root / name)

    assert _old(store) == []


def test_linked_folder_is_not_entered(store: PayloadStore, root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "tmp.1").write_bytes(b"")
    _age(outside / "tmp.1")
    root.mkdir(parents=True)
    (root / "2026").symlink_to(outside)

    assert _old(store) == []


def test_missing_root_has_no_orphans(store: PayloadStore) -> None:
    assert _old(store) == []
