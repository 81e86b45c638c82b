"""An app whose handlers do what a sandbox could prevent: write a file and run processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from rolecall import App

app = App("confined")


@app.task
def write(name: str) -> str:
    file = Path(name)
    file.write_text("written")
    return file.read_text()


@app.task(process=True)
def compute() -> str:
    command = [sys.executable, "-c", "print(7)"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
