"""The code bases that were written for other systems, as they are read here, and as those systems import them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from rolecall_import import Inventory, module_text, read_code

from rolecall import App

__all__ = ["SAMPLES", "asked_of", "declared", "inventory_of"]

SAMPLES = Path(__file__).parent / "samples"


def inventory_of(system: str) -> Inventory:
    return read_code(system, SAMPLES / system)


def declared(inventory: Inventory) -> App:
    """The app that the printed module declares."""
    names: dict[str, Any] = {"__name__": "printed"}
    exec(compile(module_text(inventory, "printed"), "printed.py", "exec"), names)  # noqa: S102 - what we printed
    app: App = names["app"]
    app.check()
    return app


def asked_of(system: str, code: str) -> Any:
    """Return the last line that the code prints, as JSON, after the real library has imported the sample."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(SAMPLES / system), "PYTHONDONTWRITEBYTECODE": "1"},
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
