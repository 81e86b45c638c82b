"""The page of roles: their settings, their tasks, and their pauses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Form, Response

from rolecall.model.durations import read_duration
from rolecall.model.errors import ConfigError
from rolecall.model.handlers import DeclaredHandler
from rolecall.model.insight import DeclaredRole
from rolecall.model.live import RoleProgress
from rolecall.service.workers import Coverage
from rolecall.web.dashboard.presenters.lists import PageNumber, page_of
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.view import Operating, Reading
from rolecall.web.parameters import SearchText

router = Pages()

CHOICES: Mapping[str, str] = {"5 min": "5m", "30 min": "30m", "2 h": "2h", "1 day": "1d"}
ROLES_A_PAGE = 20
DurationText = Annotated[str, Form(max_length=30)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleCard:
    """A role with everything that the page shows about it."""

    role: DeclaredRole
    progress: RoleProgress | None
    handlers: Sequence[DeclaredHandler]
    workers: int


@router.get("/roles")
async def show_roles(view: Reading, q: SearchText = "", page: PageNumber = 1) -> Response:
    """Show all roles, or those whose name or description contains the text, page by page."""
    services = view.services
    declared = await services.roles.list()
    shown = page_of(_filter_roles(declared, q), page, ROLES_A_PAGE)
    snapshot = await services.progress.roles()
    progress = {each.role: each for each in snapshot.roles}
    handlers = defaultdict(list)
    for handler in await services.handlers.list():
        handlers[handler.role].append(handler)
    coverage = await services.workers.coverage()
    cards = [_card(role, progress.get(role.name), handlers[role.name], coverage) for role in shown.items]
    return view.page("roles/list.html", cards=cards, page=shown, q=q, declared=len(declared), choices=CHOICES)


@router.post("/roles/{name}/pause")
async def pause_role(view: Operating, name: str, duration: DurationText = "") -> Response:
    """Pause a role, for a duration or until it is resumed."""
    pause = await view.services.roles.pause(name, _seconds(duration.strip()))
    until = "until it is resumed" if pause.paused_until is None else f"for {duration.strip()}"
    return view.done(f"Role {name} is paused {until}; running tasks continue")


@router.post("/roles/{name}/resume")
async def resume_role(view: Operating, name: str) -> Response:
    """End the pause."""
    paused = await view.services.roles.resume(name)
    return view.done(f"Role {name} is resumed" if paused else f"Role {name} was not paused")


def _filter_roles(roles: Sequence[DeclaredRole], text: str) -> list[DeclaredRole]:
    """Find roles by a text. A role with exactly that name comes first, because other pages link to it."""
    needle = text.strip().lower()
    found = [role for role in roles if needle in f"{role.name} {role.description}".lower()]
    return sorted(found, key=lambda role: role.name.lower() != needle)


def _card(
    role: DeclaredRole, progress: RoleProgress | None, handlers: Sequence[DeclaredHandler], coverage: Coverage
) -> RoleCard:
    names = [role.name, *(handler.name for handler in handlers)]
    return RoleCard(role=role, progress=progress, handlers=handlers, workers=coverage.workers(role.name, names))


def _seconds(text: str) -> float | None:
    try:
        return read_duration(text) if text else None
    except ValueError as error:
        raise ConfigError(str(error), variable="duration", value=text) from None
