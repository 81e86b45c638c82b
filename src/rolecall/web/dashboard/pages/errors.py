"""The pages of error groups: a list with filters in its URL, and one group with its latest error and its actions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal, get_args

from fastapi import Form, Query, Response
from pydantic import BeforeValidator

from rolecall.model.operator.error_groups import ErrorGroup, ErrorGroupFilter, ErrorState
from rolecall.web.dashboard.forms.task_query import with_zone
from rolecall.web.dashboard.presenters.bulk_actions import ANNOUNCEMENT
from rolecall.web.dashboard.presenters.confirmations import before_retrying_group
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.view import Operating, Reading
from rolecall.web.fields.parameters import Blank, Moment, PathId, Rate, ShortText, TextCursor

router = Pages()

Tab = Literal["new", "muted", "resolved", "all"]
TABS: tuple[Tab, ...] = get_args(Tab)
Verb = Literal["mute", "resolve", "reopen"]
STATES: dict[Verb, ErrorState] = {"mute": "muted", "resolve": "resolved", "reopen": "new"}
Word = Annotated[ShortText | None, Blank]
Since = Annotated[
    Moment | None, BeforeValidator(lambda value: with_zone(value) if isinstance(value, str) else value), Blank, Query()
]
MaybeRate = Annotated[Rate | None, Blank, Form()]


@router.get("/errors")
async def list_errors(  # sizes: the filters
    view: Reading,
    state: Tab = "new",
    text: Word = None,
    handler: Word = None,
    since: Since = None,
    cursor: TextCursor = None,
) -> Response:
    """Show error groups, those with the latest failures first."""
    states: list[ErrorState] | None = None if state == "all" else [state]
    which = ErrorGroupFilter(states=states, text=text, handler=handler, since=since, cursor=cursor)
    parts = await view.read(found=view.services.error_groups.list(which))
    words = {"text": text or "", "handler": handler or "", "since": since}
    return view.page("errors/list.html", state=state, tabs=TABS, words=words, cursor=cursor, **parts)


@router.get("/errors/{group_id:int}")
async def show_error(view: Reading, group_id: PathId) -> Response:
    """Show an error group with the text of its latest error."""
    group = await view.services.error_groups.get(group_id)
    return view.page("errors/one.html", group=group, chart=_chart(group))


@router.post("/errors/{group_id:int}/retry")
async def retry_group(view: Operating, group_id: PathId, rate: MaybeRate = None) -> Response:
    """Retry the failed tasks of an error group, after a question that names their number."""
    group = await view.services.error_groups.get(group_id)
    if not group.failed_tasks:
        return view.done("No task is failed with this error now.", tone="info")
    await view.confirm(*before_retrying_group(group, rate))
    started = await view.services.error_groups.retry(group_id, rate=rate)
    return view.done(ANNOUNCEMENT, to=f"/changes/bulk/{started.id}")


@router.post("/errors/{group_id:int}/{verb}")
async def mark_group(view: Operating, group_id: PathId, verb: Verb) -> Response:
    """Mute, resolve or reopen an error group."""
    await view.services.error_groups.mark(group_id, STATES[verb])
    return view.done(f"The error is {STATES[verb]}.")


def _chart(group: ErrorGroup) -> dict[str, object]:
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    hours = [hour - timedelta(hours=back) for back in reversed(range(len(group.hours)))]
    series = [{"label": "failures", "values": group.hours, "tone": "bad", "kind": "bars"}]
    return {"x": [int(each.timestamp()) for each in hours], "series": series}
