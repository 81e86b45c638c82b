"""The page of keys: their capacities, and the tasks that hold or wait for one key."""

from __future__ import annotations

from typing import Annotated

from fastapi import Form, Response

from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.view import Operating, Reading
from rolecall.web.fields.parameters import Blank, ShortText, TextCursor

router = Pages()

FULL = 50
BUSIEST = 10
Key = Annotated[ShortText | None, Blank]
Pattern = Annotated[str, Form(max_length=200)]


@router.get("/keys")
async def show_keys(view: Reading, key: Key = None, cursor: TextCursor = None) -> Response:
    """Show the busiest keys or one key, and the capacities."""
    services = view.services.key_capacities
    reads = {"found": services.show(key)} if key else {"busiest": services.busiest(BUSIEST)}
    parts = await view.read(capacities=services.list(cursor, FULL), **reads)
    return view.page("keys/list.html", cursor=cursor, typed=key, **{"found": None, "busiest": None, **parts})


@router.post("/keys/set")
async def set_capacity(view: Operating, pattern: Pattern, capacity: Annotated[int, Form()]) -> Response:
    """Set the capacity of a key."""
    await view.services.key_capacities.set(pattern, capacity)
    if capacity == 0:
        return view.done(f"The key {pattern!r} is paused; running tasks continue")
    number = "One task" if capacity == 1 else f"{capacity} tasks"
    return view.done(f"{number} of {_describe(pattern)} can run at once")


@router.post("/keys/resume")
async def resume_key(view: Operating, pattern: Pattern) -> Response:
    """End the pause of a key. Its declared capacity applies again, or that of the longest matching pattern, or 1."""
    await view.services.key_capacities.reset(pattern)
    return view.done(f"The key {pattern!r} is resumed")


@router.post("/keys/reset")
async def reset_capacity(view: Operating, pattern: Pattern) -> Response:
    """Remove a set capacity."""
    meaning = "The app's declaration applies again, or the longest matching pattern, or 1."
    await view.confirm(f"Reset the capacity of {_describe(pattern)}?", "Reset", meaning)
    if await view.services.key_capacities.reset(pattern) is None:
        return view.done(f"No capacity was set for {_describe(pattern)}", tone="info")
    return view.done(f"The capacity of {_describe(pattern)} is reset")


def _describe(pattern: str) -> str:
    return f"each key that begins with {pattern[:-1]!r}" if pattern.endswith("*") else f"the key {pattern!r}"
