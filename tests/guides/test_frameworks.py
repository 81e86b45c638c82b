"""The tests that the guides to web frameworks show pass, run as the reader runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rolecall.testing import TestServer
from tests.guides.blocks import GUIDES, blocks_in
from tests.guides.templates import reuse_template


@pytest.mark.parametrize("guide", ["fastapi", "flask", "litestar", "starlette"])
def test_own_tests_of_the_guide_pass(
    guide: str, tmp_path: Path, postgres_server: TestServer, database_template: str
) -> None:
    blocks = list(blocks_in((GUIDES / f"{guide}.md").read_text("utf-8")))
    for block in blocks:
        if block.file is not None:
            (tmp_path / block.file).write_text(block.code)
    reuse_template(tmp_path / "conftest.py", database_template)
    [command] = [line for block in blocks for line in block.code.splitlines() if line.startswith("$ python -m pytest")]

    done = subprocess.run(
        [sys.executable, *command.split()[2:], "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={**os.environ, "ROLECALL_TEST_SERVER": postgres_server.dsn("postgres")},
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert "1 passed" in done.stdout, done.stdout + done.stderr
