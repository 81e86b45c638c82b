"""The page of the audit log."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, get_args

from fastapi import Response
from pydantic import Field

from rolecall.model.audit import AuditFilter, Via
from rolecall.model.operator.pages import page_by_id, position
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.view import Administering
from rolecall.web.fields.parameters import Blank, Cursor, ShortText

router = Pages()

FULL = 50
SHELLS = get_args(Via)
# Seconds and labels.
SPANS = {3_600: "an hour", 86_400: "a day", 604_800: "a week", 2_592_000: "30 days"}
Word = Annotated[ShortText | None, Blank]
Shell = Annotated[Via | None, Blank]
Seconds = Annotated[Annotated[int, Field(ge=1, le=1_000_000_000)] | None, Blank]


@router.get("/audit")
async def list_audit(
    view: Administering,
    actor: Word = None,
    action: Word = None,
    via: Shell = None,
    within: Seconds = None,
    cursor: Cursor = None,
) -> Response:
    """Show audit entries, newest first."""
    filters = AuditFilter(
        actor=actor,
        action=action,
        via=via,
        since=datetime.now(UTC) - timedelta(seconds=within) if within else None,
        before=position(cursor),
        limit=FULL + 1,
    )
    words = {"actor": actor, "action": action, "via": via, "within": within}
    parts = await view.read(entries=view.services.audit.list(filters))
    return view.page(
        "audit/list.html",
        page_of=lambda found: page_by_id(found, FULL),
        words=words,
        cursor=cursor,
        shells=SHELLS,
        spans=SPANS,
        **parts,
    )
