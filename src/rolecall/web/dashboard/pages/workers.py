"""The pages of workers: the registry, one worker, and commands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import Form, Query, Response

from rolecall.model.operator.insight import RegisteredWorker, TaskFilter
from rolecall.model.operator.pages import Page
from rolecall.model.tasks import TaskSummary
from rolecall.service.workers import Workers
from rolecall.web.dashboard.parts import is_late
from rolecall.web.dashboard.presenters.tables import AskedTable
from rolecall.web.dashboard.presenters.workers import (
    ReplicaCard,
    WorkerList,
    clock_off,
    make_worker_list,
    replica_card,
    roles_of,
    step_to,
)
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.view import Administering, Operating, Reading, View
from rolecall.web.fields.parameters import MOST_IDS, Id, PathId, ShortText

router = Pages()

AT_A_GLANCE = 3
FEW = 15
LATELY = timedelta(days=1)
MOST = 1_000_000
Command = Callable[[Workers, int], Awaitable[RegisteredWorker]]
Flag = Annotated[bool, Query()]
ChosenIds = Annotated[list[Id], Query(max_length=MOST_IDS)]
ChosenReplicas = Annotated[int | None, Query(ge=0, le=MOST)]


@router.get("/admin/workers")
async def list_workers(  # sizes: the parameters of the request
    view: Reading,
    table: AskedTable,
    *,
    everyone: Flag = False,
    roles: ShortText | None = None,
    state: ShortText | None = None,
    ids: ChosenIds = [],  # noqa: B006 - never changed
    replicas: ChosenReplicas = None,
) -> Response:
    """Show the live workers, or those with the given ids, and the replicas of the cluster."""

    async def find() -> WorkerList:
        known = await view.services.workers.list(everyone=everyone or bool(ids))
        return make_worker_list(known, roles, state, table, frozenset(ids))

    parts = await view.read(roll=find(), card=_card(view, replicas))
    shown = () if is_late(parts["roll"]) else parts["roll"].table.page.items
    in_hand = view.services.workers.in_hand((worker.id for worker in shown), AT_A_GLANCE)
    return view.page(
        "workers/list.html",
        everyone=everyone,
        roles=roles,
        state=state,
        roles_of=roles_of,
        clock_off=clock_off,
        **parts,
        **await view.read(in_hand=in_hand),
    )


@router.get("/admin/workers/{worker_id:int}")
async def show_worker(worker_id: PathId, view: Reading) -> Response:
    """Show one worker, its running tasks and its recent ones."""
    workers = view.services.workers
    worker = await workers.get(worker_id)
    parts = await view.read(detail=workers.show(worker_id), lately=_find_latest(view, worker_id))
    return view.page(
        "workers/one.html",
        worker=worker,
        roles_of=roles_of,
        clock_off=clock_off,
        **parts,
    )


async def _find_latest(view: View, worker_id: int) -> Page[TaskSummary] | None:
    if not view.wants("lately"):
        return None
    since = datetime.now(UTC) - LATELY
    return await view.services.tasks.list(TaskFilter(worker_id=worker_id, finished_from=since, limit=FEW))


@router.post("/admin/workers/{worker_id:int}/drain")
async def drain_worker(worker_id: PathId, view: Operating) -> Response:
    """Drain a worker: it claims no more tasks, finishes the running ones, and stays registered."""
    await _ask(view, "Drain", worker_id, "stays registered")
    return await _send_command(view, Workers.drain, worker_id, "claims no more tasks")


@router.post("/admin/workers/{worker_id:int}/decommission")
async def decommission_worker(worker_id: PathId, view: Operating) -> Response:
    """Decommission a worker: it claims no more tasks, finishes the running ones, and exits."""
    await _ask(view, "Decommission", worker_id, "exits")
    return await _send_command(view, Workers.decommission, worker_id, "exits when its running tasks have finished")


@router.post("/admin/workers/{worker_id:int}/resume")
async def resume_worker(worker_id: PathId, view: Operating) -> Response:
    """Revoke the worker's command."""
    return await _send_command(view, Workers.resume, worker_id, "claims tasks again")


@router.post("/admin/workers/replicas")
async def scale(view: Administering, replicas: Annotated[int, Form(ge=0, le=MOST)]) -> Response:
    """Set the number of worker pods."""
    services = view.services.scaling
    step = await step_to(services, await services.replicas(), replicas)
    # There is no step to the current number, nor to one that is out of range.
    if step is not None:
        await view.confirm(f"Scale from {step.previous} to {replicas} replicas?", f"Scale to {replicas}", step.words)
    scaled = await services.scale(replicas)
    message = f"From {scaled.previous} to {scaled.desired} replicas."
    if scaled.leaving:
        message += f" {', '.join(scaled.leaving)} {'stops' if len(scaled.leaving) == 1 else 'stop'}."
    if scaled.unmarked:
        message += f" The cluster may stop other pods: {scaled.unmarked}."
    return view.done(message, to="/admin/workers")


async def _ask(view: View, verb: str, worker_id: int, then: str) -> None:
    worker = (await view.services.workers.show(worker_id)).worker
    running = len(worker.running_tasks)
    runs = f"finishes {running} running {'task' if running == 1 else 'tasks'}" if running else "runs nothing now"
    await view.confirm(f"{verb} {worker.name}?", verb, f"It claims no more tasks, {runs}, and {then}.")


async def _send_command(view: View, command: Command, worker_id: int, what: str) -> Response:
    worker = await command(view.services.workers, worker_id)
    return view.done(f"{worker.name} {what}.")


async def _card(view: View, chosen: int | None) -> ReplicaCard | None:
    return await replica_card(view.services.scaling, chosen) if view.wants("replicas") else None
