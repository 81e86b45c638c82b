"""The app behind the measured pages: one handler that does nothing."""

from __future__ import annotations

from rolecall import App

app = App("steady")


@app.task(role="steady")
async def tick(number: int) -> None:
    """Do nothing."""
