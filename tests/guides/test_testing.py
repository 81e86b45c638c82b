"""The tests that the guide `testing` shows pass, as its reader runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from rolecall.testing import TestServer
from tests.guides.blocks import GUIDES, blocks_in
from tests.guides.templates import reuse_template


def test_tests_of_the_guide_pass(postgres_server: TestServer, database_template: str, tmp_path: Path) -> None:
    file = tmp_path
    for block in blocks_in((GUIDES / "testing.md").read_text("utf-8")):
        if block.language == "python":
            file = tmp_path / block.file if block.file else file
            with file.open("a") as written:
                written.write(f"{block.code}\n\n")
    reuse_template(tmp_path / "conftest.py", database_template)

    server = {"ROLECALL_TEST_SERVER": postgres_server.dsn("postgres")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env=os.environ | server | {"PYTEST_ADDOPTS": "", "PYTHONPATH": str(tmp_path)},
        check=False,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 passed" in done.stdout
