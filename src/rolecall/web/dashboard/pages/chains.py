"""The pages of chains: a list, and one chain with its tasks, needs and dependents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Form, Query, Response

from rolecall.model.chains import ChainFilter
from rolecall.model.errors import ChainFinished, ChainNotFound, InvalidTask
from rolecall.model.operator.details import ChainOutline
from rolecall.model.operator.pages import position
from rolecall.service.arguments import STATUSES
from rolecall.web.dashboard.drawing.tree_picture import count_text
from rolecall.web.dashboard.presenters.confirmations import before_deleting_chain
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.view import Operating, Reading, View
from rolecall.web.fields.parameters import Cursor, PathId

router = Pages()

STATES = ("open", *STATUSES)
LIMIT = 25
MOST_NAMED = 3
Word = Annotated[str, Query(max_length=200)]
Index = Annotated[int | None, Query(ge=1, le=2**31 - 1)]


@router.get("/chains")
async def list_chains(
    view: Reading, state: Word = "", role: Word = "", handler: Word = "", cursor: Cursor = None
) -> Response:
    """List chains, newest first."""
    before = position(cursor)
    filters = ChainFilter(state=state or None, role=role or None, handler=handler or None, before=before, limit=LIMIT)
    chosen = {"state": state, "role": role, "handler": handler}
    parts = await view.read(page=view.services.chains.list(filters), roles=view.services.roles.list())
    return view.page(
        "chains/list.html",
        chosen=chosen,
        states=STATES,
        first=_address(chosen) if cursor else "",
        address_of=lambda cursor: _address({**chosen, "cursor": cursor}),
        **parts,
    )


@router.get("/chains/{chain_id:int}")
async def show_chain(chain_id: PathId, view: Reading, before: Index = None) -> Response:
    """Show a chain with its last tasks, or the last ones before an index."""
    outline = await view.services.chains.outline(chain_id, before=before)
    return view.page("chains/chain.html", outline=outline, refusal=_refusal(outline), before=before, counted=count_text)


@router.post("/chains/{chain_id:int}/complete")
async def complete_chain(
    chain_id: PathId, view: Operating, result: Annotated[str, Form(max_length=1_000_000)] = ""
) -> Response:
    """Complete the open task of the chain, without a worker."""
    value = _value(result)
    question = f"Complete chain {chain_id} without a worker?"
    await view.confirm(question, "Complete", "A worker that is running its task loses it.")
    outcome = await view.services.chains.complete(chain_id, value)
    if outcome == "missing":
        raise ChainNotFound(chain_id=chain_id)
    if outcome == "finished":
        raise ChainFinished(chain_id=chain_id)
    return view.done(f"Completed chain {chain_id}.")


@router.post("/chains/{chain_id:int}/delete")
async def delete_chain(chain_id: PathId, view: Operating, *, cascade: Annotated[bool, Form()] = False) -> Response:
    """Delete the chain including everything below it; `cascade` also deletes what it needs."""
    outline = await view.services.chains.outline(chain_id)
    await view.confirm(*before_deleting_chain(outline.chain, cascade=cascade))
    gone = await view.services.chains.delete([chain_id], cascade=cascade)
    if chain_id not in gone:
        raise ChainNotFound(chain_id=chain_id)
    return _deletion_sentence(view, chain_id, gone)


def _deletion_sentence(view: View, chain_id: int, gone: dict[int, int]) -> Response:
    others = f" and {len(gone) - 1} with it" if len(gone) > 1 else ""
    tasks = sum(gone.values())
    return view.done(f"Deleted chain {chain_id}{others}: {tasks} task{'s' if tasks > 1 else ''}.", to="/chains")


def _value(text: str) -> object:
    if not text.strip():
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidTask(f"the result is not JSON: {error}") from error


def _address(words: Mapping[str, str | None]) -> str:
    return "/chains?" + urlencode({name: value for name, value in words.items() if value})


def _refusal(outline: ChainOutline) -> str:
    """Return why the chain cannot be deleted now; empty if it can."""
    open_ones = [each for each in outline.dependents if not each.state.is_finished]
    if not open_ones:
        return ""
    named = ", ".join(f"{each.handler} {each.task_id}" for each in open_ones[:MOST_NAMED])
    more = f" and {len(open_ones) - MOST_NAMED} more" if len(open_ones) > MOST_NAMED else ""
    return f"It cannot be deleted now: open tasks need it ({named}{more})."
