"""Chains over HTTP: list, wait, complete, list dependents, delete."""

from __future__ import annotations

from fastapi import Request, Response

from rolecall.model.chains import ChainFilter
from rolecall.model.errors import ChainFinished, ChainNotFound
from rolecall.model.operator.pages import Page, page_by_id, position
from rolecall.model.tasks import Dependent
from rolecall.web.dependencies import KnownCaller, Operates, Reads
from rolecall.web.fields.aliases import Naming
from rolecall.web.fields.parameters import Body, Cursor, Limit, PathId, Patience, Result, ShortText, with_items
from rolecall.web.fields.views import ListedChain, Outcome, ShownChain, listed_chain, view_of_chain
from rolecall.web.http.problems import refuses
from rolecall.web.http.requests import UNCHANGED, with_etag
from rolecall.web.routers import api_router
from rolecall.web.state import state_of

router = api_router(prefix="/api/chains", tags=["chains"])


class DeletedChain(Body):
    """A deleted chain, with its number of tasks."""

    id: int
    tasks: int


class Deletion(Body):
    """All chains that were deleted."""

    deleted: list[DeletedChain]


@router.get("")
async def list_chains(  # sizes: the filters
    services: Reads,
    state: ShortText | None = None,
    role: ShortText | None = None,
    handler: ShortText | None = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[ListedChain]:
    """List open and finished chains, newest first. `state` is `open`, or a state or status of the last task."""
    filters = ChainFilter(state=state, role=role, handler=handler, before=position(cursor), limit=limit)
    return with_items(await services.chains.list(filters), listed_chain)


@router.get("/{chain_id:int}", response_model=ShownChain, responses=UNCHANGED)
async def get_chain(chain_id: PathId, services: Reads, names: Naming, request: Request) -> Response:
    """Return one chain with its tasks."""
    history = await services.chains.show(chain_id)
    return with_etag(request, view_of_chain(history.chain, history.tasks, names))


@router.get("/{chain_id:int}/wait")
async def wait_for_chain(
    chain_id: PathId, services: Reads, caller: KnownCaller, request: Request, seconds: Patience = 20.0
) -> ListedChain:
    """Return the chain once it has finished, or its current state after the seconds; see `open`."""
    chain = await services.chains.get(chain_id)
    if chain.open:
        await state_of(request).waits.for_chain(chain_id, seconds, caller.limited_as)
        chain = await services.chains.get(chain_id)
    return listed_chain(chain)


@router.get("/{chain_id:int}/blocking")
async def list_dependents(
    chain_id: PathId, services: Reads, cursor: Cursor = None, limit: Limit = 50
) -> Page[Dependent]:
    """List the tasks that need the chain or a task of it, by id. A null `outcome` means that the need is open."""
    dependents = await services.chains.blocking(chain_id, after=position(cursor), limit=limit + 1)
    return page_by_id(dependents, limit, lambda dependent: dependent.task_id)


@router.post("/{chain_id:int}/complete", responses=refuses(409))
async def complete_chain(chain_id: PathId, services: Operates, output: Result | None = None) -> Outcome:
    """Complete the open task of the chain, without a worker."""
    outcome = await services.chains.complete(chain_id, output and output.result)
    if outcome == "missing":
        raise ChainNotFound(chain_id=chain_id)
    if outcome == "finished":
        raise ChainFinished(chain_id=chain_id)
    return Outcome(id=chain_id, outcome=outcome)


@router.delete("/{chain_id:int}", responses=refuses(409))
async def delete_chain(chain_id: PathId, services: Operates, *, cascade: bool = False) -> Deletion:
    """Delete a chain including everything below it, unless an open task needs it. `cascade` also deletes what it
    needs.
    """
    gone = await services.chains.delete([chain_id], cascade=cascade)
    if chain_id not in gone:
        raise ChainNotFound(chain_id=chain_id)
    return Deletion(deleted=[DeletedChain(id=each, tasks=tasks) for each, tasks in gone.items()])
