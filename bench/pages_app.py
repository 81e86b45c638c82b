"""The app behind the pages that are measured: one handler that does nothing, for what runs meanwhile."""

from __future__ import annotations

from rolecall import App

app = App("steady")


@app.task(role="steady")
async def tick(number: int) -> None:
    """Do nothing."""
