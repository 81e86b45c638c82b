"""Collecting files that no row knows."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from storecrawl.payloads import PayloadStore

DAY_OLD = (datetime.now(UTC) - timedelta(hours=25)).timestamp()


def _age(file: Path) -> None:
    os.utime(file, (DAY_OLD, DAY_OLD))


def test_an_old_file_without_a_row_is_removed(store: PayloadStore, root: Path) -> None:
    """covers RELIABILITY F68"""
    written = store.write(1, b"{}", task_id=1, attempt=1)
    _age(root / written.path)

    assert store.collect_orphans(set()) == [written.path]
    assert not (root / written.path).exists()


def test_an_old_file_with_a_row_stays(store: PayloadStore, root: Path) -> None:
    """covers RELIABILITY F68, SPEC B14-7"""
    written = store.write(1, b"{}", task_id=1, attempt=1)
    _age(root / written.path)

    assert store.collect_orphans({written.path}) == []
    assert (root / written.path).exists()


def test_a_young_file_without_a_row_stays(store: PayloadStore, root: Path) -> None:
    """covers RELIABILITY F68"""
    written = store.write(1, b"{}", task_id=1, attempt=1)

    assert store.collect_orphans(set()) == []
    assert (root / written.path).exists()


def test_an_old_temporary_file_is_removed(store: PayloadStore, root: Path) -> None:
    """covers RELIABILITY F68"""
    left = root / "2026" / "01" / "01" / "tmp.0123"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half")
    _age(left)

    assert store.collect_orphans(set()) == ["2026/01/01/tmp.0123"]


@pytest.mark.parametrize("name", ["notes.txt", "store_1.json.gz", "store_x_1_1_0123456789abcdef.json.gz"])
def test_what_we_did_not_write_is_left_alone(store: PayloadStore, root: Path, name: str) -> None:
    """covers RELIABILITY F68"""
    root.mkdir(parents=True)
    (root / name).write_bytes(b"")
    _age(root / name)

    assert store.collect_orphans(set()) == []
    assert (root / name).exists()


def test_a_linked_folder_is_not_entered(store: PayloadStore, root: Path, tmp_path: Path) -> None:
    """covers RELIABILITY F68"""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "tmp.1").write_bytes(b"")
    _age(outside / "tmp.1")
    root.mkdir(parents=True)
    (root / "2026").symlink_to(outside)

    assert store.collect_orphans(set()) == []
    assert (outside / "tmp.1").exists()


def test_nothing_is_collected_where_there_is_no_root(store: PayloadStore) -> None:
    """covers RELIABILITY F68"""
    assert store.collect_orphans(set()) == []
