"""Damaged and hostile files: the reader returns the written document or a typed error, with little memory."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard
from storecrawl.payloads import (
    Limits,
    PayloadBomb,
    PayloadCorrupt,
    PayloadError,
    PayloadMissing,
    PayloadOutsideRoot,
    PayloadStore,
)
from storecrawl.storage import FolderStorage

from apps.storecrawl.tests.payload_files import SKIPPABLE

MEBIBYTE = 1024**2
GIBIBYTE = 1024**3
BOMB_READER = """
import sys
from pathlib import Path
from storecrawl.payloads import PayloadError, PayloadStore
from storecrawl.storage import FolderStorage

root, size = Path(sys.argv[1]), int(sys.argv[2])
try:
    PayloadStore(FolderStorage(root)).read("bomb.json.zst", "0" * 64, size)
except PayloadError as error:
    # Not ru_maxrss: a process begins with that of the one that started it.
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(type(error).__name__, peak.split()[1])
"""


@pytest.fixture
def plant(root: Path) -> str:
    root.mkdir(parents=True)
    return "planted.json.zst"


def test_file_truncated_at_any_thousandth_byte_is_corrupt(store: PayloadStore, root: Path, document: bytes) -> None:
    written = store.write(7, document, task_id=1, attempt=1)
    whole = (root / written.path).read_bytes()
    assert len(whole) > 15_000

    for length in [*range(0, len(whole), 1_000), len(whole) - 1]:
        (root / written.path).write_bytes(whole[:length])
        with pytest.raises(PayloadCorrupt):
            store.read(written.path, written.sha256, written.size_raw)


def test_flipped_bit_is_detected_or_changes_nothing(store: PayloadStore, root: Path, document: bytes) -> None:
    written = store.write(7, document, task_id=1, attempt=1)
    whole = (root / written.path).read_bytes()
    chance = random.Random(3)
    places = [*range(10 * 8), *(chance.randrange(len(whole) * 8) for _ in range(300))]

    for place in places:
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        (root / written.path).write_bytes(damaged)
        assert _read(store, written.path, written.sha256, written.size_raw) in {None, document}


def test_file_of_another_document_is_corrupt(store: PayloadStore, document: bytes) -> None:
    written = store.write(7, document, task_id=1, attempt=1)
    other = hashlib.sha256(b"another").hexdigest()

    with pytest.raises(PayloadCorrupt, match="checksum"):
        store.read(written.path, other, written.size_raw)


@pytest.mark.parametrize("difference", [-1, 1])
def test_file_with_another_size_is_corrupt(store: PayloadStore, document: bytes, difference: int) -> None:
    written = store.write(7, document, task_id=1, attempt=1)

    with pytest.raises(PayloadCorrupt):
        store.read(written.path, written.sha256, written.size_raw + difference)


@pytest.mark.parametrize("tail", [b"\0", b"\0\0\0\0", zstandard.compress(b"more")])
@pytest.mark.parametrize("size", [2, 300_000])
def test_file_with_trailing_data_is_corrupt(
    store: PayloadStore, root: Path, plant: str, tail: bytes, size: int
) -> None:
    content = b"{}" + b" " * (size - 2)
    (root / plant).write_bytes(zstandard.compress(content) + tail)
    roomy = store.with_limits(Limits(max_ratio=100_000))

    with pytest.raises(PayloadCorrupt):
        roomy.read(plant, hashlib.sha256(content).hexdigest(), size)


@pytest.mark.parametrize("head", [b"\xff\xff\0\0", b"\x02\0\0\0/.", b"\x05\0\0\0a", b"\x03\0\0\0../"])
def test_file_without_a_proper_base_is_corrupt_or_missing(
    store: PayloadStore, root: Path, plant: str, head: bytes
) -> None:
    (root / plant).write_bytes(SKIPPABLE + head + zstandard.compress(b"{}"))

    with pytest.raises(PayloadError):
        store.read(plant, hashlib.sha256(b"{}").hexdigest(), 2)


def test_file_that_is_its_own_base_is_corrupt(store: PayloadStore, root: Path, plant: str) -> None:
    path = plant.encode()
    (root / plant).write_bytes(SKIPPABLE + bytes([len(path), 0, 0, 0]) + path + zstandard.compress(b"{}"))

    with pytest.raises(PayloadCorrupt, match="has a base itself"):
        store.read(plant, hashlib.sha256(b"{}").hexdigest(), 2)


@pytest.mark.parametrize(
    ("size_in_the_row", "expected"),
    [(GIBIBYTE, "PayloadTooLarge"), (100 * MEBIBYTE, "PayloadBomb"), (1_000, "PayloadCorrupt")],
)
def test_bomb_is_rejected_with_little_memory(root: Path, size_in_the_row: int, expected: str) -> None:
    root.mkdir(parents=True)
    _write_bomb(root / "bomb.json.zst", GIBIBYTE)

    command = [sys.executable, "-c", BOMB_READER, str(root), str(size_in_the_row)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)

    error, kibibytes = answer.stdout.split()
    assert error == expected
    assert 0 < int(kibibytes) < 200 * 1024


def test_compression_ratio_is_limited_too(root: Path, plant: str) -> None:
    (root / plant).write_bytes(zstandard.compress(bytes(1_000_000)))
    store = PayloadStore(FolderStorage(root), limits=Limits(max_ratio=200))

    with pytest.raises(PayloadBomb):
        store.read(plant, hashlib.sha256(bytes(1_000_000)).hexdigest(), 1_000_000)


@pytest.mark.parametrize(
    "path",
    ["../secret", "/etc/passwd", "a/../../secret", "a//b", "./a", "", "a/", "a\x00b", "..", "2026/./x"],
)
def test_path_outside_the_root_is_rejected(store: PayloadStore, root: Path, path: str) -> None:
    root.mkdir(parents=True)
    (root.parent / "secret").write_bytes(zstandard.compress(b"{}"))

    with pytest.raises(PayloadOutsideRoot):
        store.read(path, hashlib.sha256(b"{}").hexdigest(), 2)


@pytest.mark.parametrize("inside", [True, False])
def test_link_instead_of_the_file_is_rejected(store: PayloadStore, root: Path, plant: str, inside: bool) -> None:
    target = (root if inside else root.parent) / "target"
    target.write_bytes(zstandard.compress(b"{}"))
    (root / plant).symlink_to(target)

    with pytest.raises(PayloadOutsideRoot):
        store.read(plant, hashlib.sha256(b"{}").hexdigest(), 2)


def test_link_instead_of_a_folder_is_rejected(store: PayloadStore, root: Path, plant: str) -> None:
    (root.parent / plant).write_bytes(zstandard.compress(b"{}"))
    (root / "2026").symlink_to(root.parent)

    with pytest.raises(PayloadOutsideRoot):
        store.read(f"2026/{plant}", hashlib.sha256(b"{}").hexdigest(), 2)


def test_root_that_is_a_link_is_accepted(tmp_path: Path, document: bytes) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    store = PayloadStore(FolderStorage(tmp_path / "link"))
    written = store.write(7, document, task_id=1, attempt=1)

    assert store.read(written.path, written.sha256, written.size_raw) == document


def test_pipe_or_folder_instead_of_the_file_is_corrupt(store: PayloadStore, root: Path, plant: str) -> None:
    os.mkfifo(root / plant)
    (root / "folder").mkdir()

    for path in (plant, "folder"):
        with pytest.raises(PayloadCorrupt, match="not a regular file"):
            store.read(path, "0" * 64, 2)


def test_file_instead_of_a_folder_means_missing(store: PayloadStore, root: Path, plant: str) -> None:
    (root / plant).write_bytes(b"")

    with pytest.raises(PayloadMissing):
        store.read(f"{plant}/x", "0" * 64, 2)


def _read(store: PayloadStore, path: str, sha256: str, size_raw: int) -> bytes | None:
    try:
        return store.read(path, sha256, size_raw)
    except PayloadError:
        return None


def _write_bomb(file: Path, size: int) -> None:
    packer = zstandard.ZstdCompressor().compressobj()
    zeros = bytes(MEBIBYTE)
    with file.open("wb") as opened:
        for _ in range(size // len(zeros)):
            opened.write(packer.compress(zeros))
        opened.write(packer.flush())
