"""The handler functions of Celery tasks and groups. They run the task's function and enqueue what follows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

from rolecall.celery.canvas import LINK
from rolecall.celery.current import AnyApp, Request, attempt
from rolecall.celery.exceptions import Ignore
from rolecall.celery.payloads import Fields, is_plain
from rolecall.celery.tasks import Task
from rolecall.model.errors import HandlerAborted, PermanentFailure, Retry
from rolecall.model.outcomes import Cancel, UnstoredResult
from rolecall.worker.context import Context

GROUP_HANDLER = "celery.group"
REST = "rest"
# How the errors of timed-out attempts begin, as reported by the worker or by the rescue.
OVERRAN, RESCUED = "the handler did not finish within ", "timeout"


def function_of(task: Task, fields: Fields, app: AnyApp) -> Callable[..., Any]:
    """Return the handler function. It runs the task's function and then continues its chain and links."""

    def run(ctx: Context, /, canvas: Mapping[str, Any] | None = None, **payload: Any) -> Any:
        if _overran(ctx):
            raise PermanentFailure(ctx.last_error or "")
        args, kwargs = fields.arguments(payload)
        with attempt(_request(task, ctx, args, kwargs)):
            try:
                result = task.run(*args, **kwargs)
            except Ignore as ignored:
                return Cancel(str(ignored) or "ignored")
            except Exception as error:  # noqa: BLE001 - any error ends the task
                _fail(task, error)
            # The function has run, so errors from here on must not retry it.
            with final_errors():
                _go_on(app, ctx, canvas or {}, result)
        dropped = app.ignores_results if task.options.ignore_result is None else task.options.ignore_result
        return None if dropped else _store_steps(result)

    run.__signature__ = fields.signature()  # type: ignore[attr-defined]  # as inspect documents it
    run.__doc__ = task.function.__doc__
    return run


def groups(app: AnyApp) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the two steps of a group within a chain. Its members are children of the group's task.

    When all of them have finished, the second step passes their results, in order, to the next step of the chain.
    """

    async def begin(ctx: Context, members: list[list[dict[str, Any]]], rest: list[dict[str, Any]]) -> None:  # noqa: ARG001 - read by the gather step
        ctx.spawn(*(app.draft(member) for member in members))

    async def gather(ctx: Context, members: list[list[dict[str, Any]]], rest: list[dict[str, Any]]) -> list[Any]:  # noqa: ARG001 - a gather step has its handler's payload
        results = [child.result for child in await ctx.children()]
        if rest:
            ctx.continue_with(app.draft(rest, _handed_on(results)))
        return results

    return begin, gather


def _overran(ctx: Context) -> bool:
    """Return whether the previous attempt timed out. Celery does not retry such tasks."""
    error = ctx.last_error or ""
    return ctx.attempt > 1 and (error.startswith(OVERRAN) or error == RESCUED)


def _request(task: Task, ctx: Context, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Request:
    return Request(
        id=str(ctx.task_id),
        task=task.name,
        retries=ctx.attempt - 1,
        args=args,
        kwargs=kwargs,
        root_id=str(ctx.chain_id),
        parent_id=None if ctx.parent_id is None else str(ctx.parent_id),
        delivery_info={"routing_key": ctx.role, "priority": ctx.task.priority},
        context=ctx,
    )


@contextmanager
def final_errors() -> Iterator[None]:
    """Make errors within the block permanent."""
    try:
        yield
    except PermanentFailure:
        raise
    except Exception as error:
        raise PermanentFailure from error


def _fail(task: Task, error: Exception) -> NoReturn:
    """Raise the outcome of the attempt. Celery retries only where the task asks for it."""
    if isinstance(error, Retry | HandlerAborted | PermanentFailure):
        raise error
    try:
        task.retry_by_itself(error)
    except Retry:
        raise
    except Exception as last:
        raise PermanentFailure from last
    raise PermanentFailure from error


def _go_on(app: AnyApp, ctx: Context, canvas: Mapping[str, Any], result: Any) -> None:
    if canvas:
        result = _handed_on(result)
    if rest := canvas.get(REST):
        ctx.continue_with(app.draft(rest, result))
    for steps in canvas.get(LINK, ()):
        ctx.follow_up(app.draft(steps, result))


def _handed_on(result: Any) -> Any:
    if not is_plain(result):
        raise PermanentFailure(
            f"the result has the type {type(result).__name__}, which JSON would change for the next task: return "
            "strings, numbers, lists or dictionaries"
        )
    return result


def _store_steps(result: Any) -> Any:
    """Return the result if JSON preserves it; otherwise an UnstoredResult."""
    return result if is_plain(result) else UnstoredResult(f"a {type(result).__name__}, not plain JSON")
