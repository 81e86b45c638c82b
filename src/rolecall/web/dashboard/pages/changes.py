"""The page of changes: the audit log as sentences, filtered by time, person and thing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, get_args

from fastapi import Query, Response
from pydantic import BeforeValidator

from rolecall.model.audit import AuditFilter, StoredAuditEvent, Via
from rolecall.model.operator.pages import Page, page_by_id, position
from rolecall.service.services import Services
from rolecall.web.dashboard.forms.task_query import with_zone
from rolecall.web.dashboard.presenters.changes import KINDS, Change, bulk_ids, changes_of
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.view import Operating
from rolecall.web.fields.parameters import Blank, Cursor, Moment, ShortText

router = Pages()

FULL = 50
SHELLS = get_args(Via)
Word = Annotated[ShortText | None, Blank]
Shell = Annotated[Via | None, Blank]
Time = Annotated[
    Moment | None, BeforeValidator(lambda value: with_zone(value) if isinstance(value, str) else value), Blank, Query()
]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundChanges:
    """A page of changes."""

    items: Sequence[Change]
    next_cursor: str | None


@router.get("/changes")
async def list_changes(  # sizes: the filters
    view: Operating,
    actor: Word = None,
    kind: Word = None,
    thing: Word = None,
    via: Shell = None,
    since: Time = None,
    until: Time = None,
    cursor: Cursor = None,
) -> Response:
    """Show changes and their authors, newest first."""
    which = AuditFilter(
        actor=actor,
        kinds=kind and [kind],
        thing=thing,
        via=via,
        since=since,
        until=until,
        before=position(cursor),
        limit=FULL + 1,
    )
    words = {"actor": actor, "kind": kind, "thing": thing, "via": via, "since": since, "until": until}
    parts = await view.read(found=_find(view.services, which))
    return view.page(
        "changes/list.html",
        words=words,
        is_filtered=any(words.values()),
        cursor=cursor,
        shells=SHELLS,
        kinds=KINDS,
        **parts,
    )


async def _find(services: Services, which: AuditFilter) -> FoundChanges:
    page: Page[StoredAuditEvent] = page_by_id(await services.audit.list(which), FULL)
    ids = bulk_ids(page.items)
    actions = await services.bulk_actions.named(ids) if ids else {}
    return FoundChanges(items=changes_of(page.items, actions), next_cursor=page.next_cursor)
