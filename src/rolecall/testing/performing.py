"""Call a handler in a test as a worker does: validated payload and result, and all middlewares."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar, cast

from rolecall.app import HandlerDefinition
from rolecall.app.handlers import Middleware
from rolecall.model.outcomes import NoResult
from rolecall.sql.encoding import encode
from rolecall.testing.asking import in_a_loop
from rolecall.testing.contexts import FakeBatchContext, FakeContext
from rolecall.worker.runners import chain_middlewares, results_per_task
from rolecall.worker.subprocess.context import ProcessContext

P = ParamSpec("P")
R = TypeVar("R")
Performed = HandlerDefinition[P, R] | FakeContext[P, R]


async def perform(what: Performed[P, R], /, *args: P.args, **payload: P.kwargs) -> R:
    """Call a handler with a payload as a worker does, but without a task. Return its result.

        assert await perform(bill, order=7) == "billed 7"
        ctx = FakeContext(bill, attempt=2, connection=aconnection)
        assert await perform(ctx, order=7) == "billed 7"

    The payload is converted to JSON and back, and middlewares wrap the call (those of the app only if the context has
    one). Plain functions run in a thread; with `process=True`, the handler receives a ProcessContext. In a step after
    children (`FakeContext(..., step=1, children=...)`), `gather` is called.

    Raises the handler's exceptions, InvalidPayload, ContractBroken for a result or continuation that the contract does
    not allow, and TypeError for a result that was not awaited.
    """
    context = _context_of(what)
    definition = context.definition
    if definition.batch is not None:
        raise TypeError(f"{definition.name!r} takes batches: give perform_batch a list of payloads")
    step = definition.gather if context.step and definition.gather else definition
    arguments = step.decode(_json(definition, definition.signature.assign_names(args, payload)))
    context.loop = asyncio.get_running_loop()

    async def call(ctx: Any, arguments: dict[str, Any]) -> Any:
        given = ProcessContext(context.task) if definition.process else ctx
        if step.is_async:
            return await step.call(given, arguments)
        return await asyncio.to_thread(step.call, given, arguments)

    result = await chain_middlewares(call, _middlewares(context))(context, arguments)
    if not isinstance(result, NoResult) and not context.completed:
        context.require(result)
    return cast("R", result)


def perform_sync(what: Performed[P, R], /, *args: P.args, **payload: P.kwargs) -> R:
    """Do the same as `perform`, but synchronously, in an event loop of its own."""
    return in_a_loop(lambda: perform(what, *args, **payload))


async def perform_batch(
    what: HandlerDefinition[..., Any] | Sequence[FakeContext[..., Any]], payloads: Sequence[Mapping[str, object]]
) -> list[Any]:
    """Call a batch handler once with these payloads, as a worker does. Return the outcome of each.

    The contexts of the tasks can be passed instead of the handler. Errors returned for single tasks are returned.
    Raises the handler's exceptions, InvalidPayload, ContractBroken and WrongResults.
    """
    contexts = [FakeContext(what) for _ in payloads] if isinstance(what, HandlerDefinition) else list(what)
    definition = contexts[0].definition
    items = [definition.decode(_json(definition, payload)) for payload in payloads]

    def call(ctx: Any, items: list[Any]) -> Awaitable[Any]:
        if definition.is_async:
            return cast("Awaitable[Any]", definition.call_batch(ctx, items))
        return asyncio.to_thread(definition.call_batch, ctx, items)

    for context in contexts:
        context.loop = asyncio.get_running_loop()
    results = await chain_middlewares(call, _middlewares(contexts[0]))(FakeBatchContext(contexts), items)
    outcomes = results_per_task(results, len(items))
    for context, outcome in zip(contexts, outcomes, strict=True):
        if not isinstance(outcome, NoResult | BaseException) and not context.completed:
            context.require(outcome)
    return list(outcomes)


def _context_of(what: Performed[P, R]) -> FakeContext[P, R]:
    if isinstance(what, FakeContext):
        return what
    if isinstance(what, HandlerDefinition):
        return FakeContext(what)
    raise TypeError(f"expected a handler or a FakeContext, got {type(what).__name__}")


def _json(handler: HandlerDefinition[..., Any], payload: Mapping[str, object]) -> str:
    return encode(handler.signature.check(payload))


def _middlewares(context: FakeContext[..., Any]) -> Sequence[Middleware]:
    definition = context.definition
    return definition.middlewares if context.app is None else context.app.middlewares_of(definition.name)
