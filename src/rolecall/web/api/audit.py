"""The audit log over HTTP."""

from __future__ import annotations

from fastapi import APIRouter

from rolecall.model.audit import AuditFilter, StoredAuditEvent, Via
from rolecall.model.pages import Page, page_by_id, position
from rolecall.web.access import Administers
from rolecall.web.fields import Limit, Moment, ShortText
from rolecall.web.paging import Cursor

router = APIRouter(prefix="/api/audit", tags=["audit"])


@router.get("")
async def list_audit(  # sizes: the filters
    services: Administers,
    actor: ShortText | None = None,
    action: ShortText | None = None,
    via: Via | None = None,
    since: Moment | None = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[StoredAuditEvent]:
    """Who changed what, the latest first."""
    which = AuditFilter(actor=actor, action=action, via=via, since=since, before=position(cursor), limit=limit + 1)
    events = await services.audit.list(which)
    return page_by_id(events, limit)
