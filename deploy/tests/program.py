"""The program in the pods: a task that runs until the gate is opened, and returns the pod that completed it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from rolecall import App

app = App("gate")


@app.task(role="product_resync", max_attempts=3)
async def pass_the_gate() -> str:
    gate = Path(os.environ["GATE"])
    while not gate.exists():
        await asyncio.sleep(0.05)
    return os.environ["ROLECALL_POD_NAME"]
