"""Types shared by threads are prepared before the threads start, because msgspec crashes if two threads do it at
once.
"""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(("module", "kind"), [("why", "Situation"), ("insight", "RegisteredWorker")])
def test_types_read_in_threads_are_prepared_at_import(module: str, kind: str) -> None:
    program = f"from rolecall.sql.{module} import {kind}; assert '__msgspec_cache__' in vars({kind})"

    subprocess.run([sys.executable, "-c", program], check=True)
