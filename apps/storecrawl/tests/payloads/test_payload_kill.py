"""kill -9 of a writer process at every step of a write: a partial file is never visible."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from storecrawl.payloads import PayloadStore
from storecrawl.storage import FolderStorage

# Every system call of a write goes through `os`: the writer dies before or after the n-th call. If it dies
# after a write, only a part of the data has reached the disk.
WRITER = """
import os, signal, sys
from pathlib import Path
from storecrawl.payloads import PayloadStore
from storecrawl.storage import FolderStorage

root, document, victim, moment = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
steps = 0

def deadly(name):
    call = getattr(os, name)
    def step(*arguments, **options):
        global steps
        steps += 1
        if steps == victim and moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        if steps == victim and name == "write":
            arguments = (arguments[0], arguments[1][: len(arguments[1]) // 2])
        try:
            return call(*arguments, **options)
        finally:
            if steps == victim:
                os.kill(os.getpid(), signal.SIGKILL)
    return step

content = document.read_bytes()
for name in ("mkdir", "open", "write", "fsync", "close", "link", "unlink"):
    setattr(os, name, deadly(name))
PayloadStore(FolderStorage(root)).write(7, content, task_id=1, attempt=1)
print(steps)
"""


@pytest.fixture
def source(tmp_path: Path, document: bytes) -> Path:
    file = tmp_path / "document.json"
    file.write_bytes(document)
    return file


def test_writer_killed_at_any_step_leaves_a_complete_file_or_none(
    tmp_path: Path, source: Path, document: bytes
) -> None:
    steps = int(_write(tmp_path / "unharmed", source, 0, "never").stdout)
    assert steps >= 12
    outcomes = set()

    for victim in range(1, steps + 1):
        for moment in ("before", "after"):
            root = tmp_path / f"{victim}-{moment}"
            assert _write(root, source, victim, moment).returncode == -signal.SIGKILL
            visible = _visible(root)
            assert all(_is_whole(root, path, document) for path in visible)
            outcomes.add(len(visible))

    assert outcomes == {0, 1}


def test_files_left_by_a_killed_writer_are_collected_and_the_retry_succeeds(
    tmp_path: Path, source: Path, document: bytes
) -> None:
    root = _killed_folder(tmp_path, source)
    store = PayloadStore(FolderStorage(root))

    written = store.write(7, document, task_id=1, attempt=2)
    [old] = store.old_files(timedelta(seconds=-60))
    store.remove(set(old) - {written.path})

    assert len(old) == 2
    assert [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()] == [written.path]
    assert store.read(written.path, written.sha256, written.size_raw) == document


def _write(root: Path, source: Path, victim: int, moment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WRITER, str(root), str(source), str(victim), moment]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def _killed_folder(folder: Path, source: Path) -> Path:
    """Return the folder of a writer killed at the first step that leaves a temporary file."""
    for victim in range(1, 100):
        root = folder / f"killed-{victim}"
        assert _write(root, source, victim, "after").returncode == -signal.SIGKILL
        if any(root.rglob("tmp.*")):
            return root
    raise AssertionError("no step of a write leaves a temporary file")


def _visible(root: Path) -> list[str]:
    return [path.relative_to(root).as_posix() for path in root.rglob("*.zst") if path.is_file()]


def _is_whole(root: Path, path: str, document: bytes) -> bool:
    digest = hashlib.sha256(document).hexdigest()
    return PayloadStore(FolderStorage(root)).read(path, digest, len(document)) == document
