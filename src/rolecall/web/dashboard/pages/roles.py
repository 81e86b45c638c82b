"""Roles: what they are for, what they allow, what waits in them, and how to hold them up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Form, Response

from rolecall.model.durations import read_duration
from rolecall.model.errors import ConfigError
from rolecall.model.handlers import DeclaredHandler
from rolecall.model.insight import DeclaredRole, RegisteredWorker
from rolecall.model.live import RoleProgress
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.view import Operating, Reading

router = Pages()

CHOICES: Mapping[str, str] = {"5 min": "5m", "30 min": "30m", "2 h": "2h", "1 day": "1d"}
DurationText = Annotated[str, Form(max_length=30)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleCard:
    """A role with all that is shown of it."""

    role: DeclaredRole
    progress: RoleProgress | None
    handlers: Sequence[DeclaredHandler]
    workers: int


@router.get("/roles")
async def show_roles(view: Reading) -> Response:
    """Show every role."""
    services = view.services
    handlers, workers = await services.handlers.list(), await services.workers.list()
    snapshot = await services.progress.roles()
    progress = {each.role: each for each in snapshot.roles}
    cards = [_card(role, progress, handlers, workers) for role in await services.roles.list()]
    return view.page("roles/list.html", cards=cards, choices=CHOICES)


@router.post("/roles/{name}/pause")
async def pause_role(view: Operating, name: str, duration: DurationText = "") -> Response:
    """Let no task of the role begin, for a time or until somebody resumes it."""
    pause = await view.services.roles.pause(name, _seconds(duration.strip()))
    until = "until somebody resumes it" if pause.paused_until is None else f"for {duration.strip()}"
    return view.done(f"Role {name} rests {until}; what runs goes on")


@router.post("/roles/{name}/resume")
async def resume_role(view: Operating, name: str) -> Response:
    """End the pause."""
    paused = await view.services.roles.resume(name)
    return view.done(f"Role {name} goes on" if paused else f"Role {name} was not paused")


def _card(
    role: DeclaredRole,
    progress: Mapping[str, RoleProgress],
    handlers: Sequence[DeclaredHandler],
    workers: Sequence[RegisteredWorker],
) -> RoleCard:
    own = [handler for handler in handlers if handler.role == role.name]
    names = [role.name, *(handler.name for handler in own)]
    serving = [worker for worker in workers if any(worker.takes(role.name, name) for name in names)]
    return RoleCard(role=role, progress=progress.get(role.name), handlers=own, workers=len(serving))


def _seconds(text: str) -> float | None:
    try:
        return read_duration(text) if text else None
    except ValueError as error:
        raise ConfigError(str(error), variable="duration", value=text) from None
