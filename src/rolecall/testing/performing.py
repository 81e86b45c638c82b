"""Call a handler in a test as a worker would: its payload and its result checked, inside its middlewares."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar, cast

from rolecall.app import HandlerDefinition
from rolecall.app.handlers import Middleware
from rolecall.model.outcomes import NoResult
from rolecall.sql.documents import encode
from rolecall.testing.asking import in_a_loop
from rolecall.testing.contexts import FakeBatchContext, FakeContext
from rolecall.worker.runners import chain_middlewares, one_each
from rolecall.worker.subprocess.context import ProcessContext

__all__ = ["perform", "perform_batch", "perform_sync"]

P = ParamSpec("P")
R = TypeVar("R")
Performed = HandlerDefinition[P, R] | FakeContext[P, R]


async def perform(what: Performed[P, R], /, *args: P.args, **payload: P.kwargs) -> R:
    """Call a handler with a payload as a worker does, without any task; return what it returns.

        assert await perform(bill, order=7) == "billed 7"
        ctx = FakeContext(bill, attempt=2, connection=aconnection)
        assert await perform(ctx, order=7) == "billed 7"

    The payload goes through its JSON, the handler's middlewares (with the context's app: all of them) stand around the
    call, a plain function runs in a thread, and one with `process=True` is given a ProcessContext. In a step after
    children (`FakeContext(..., step=1, children=...)`) its `gather` is called. Raises what the handler raises,
    InvalidPayload for what does not fit, ContractBroken for a result or a continuation that was not promised, and
    TypeError for a result that nobody awaited.
    """
    context = _context_of(what)
    definition = context.definition
    if definition.batch is not None:
        raise TypeError(f"{definition.name!r} takes batches: give perform_batch a list of payloads")
    step = definition.gather if context.step and definition.gather else definition
    arguments = step.decode(_json(definition, definition.signature.named(args, payload)))
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
    """Do what `perform` does from plain code, in a loop of its own."""
    return in_a_loop(lambda: perform(what, *args, **payload))


async def perform_batch(
    what: HandlerDefinition[..., Any] | Sequence[FakeContext[..., Any]], payloads: Sequence[Mapping[str, object]]
) -> list[Any]:
    """Call a batch handler once, with these payloads, as a worker does; return what became of each.

    Instead of the handler, the contexts of its tasks can be given. Raises what the handler raises, and InvalidPayload,
    ContractBroken and WrongResults as for `perform`; errors that it returns for single tasks are returned.
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
    outcomes = one_each(results, len(items))
    for context, outcome in zip(contexts, outcomes, strict=True):
        if not isinstance(outcome, NoResult | BaseException) and not context.completed:
            context.require(outcome)
    return list(outcomes)


def _context_of(what: Performed[P, R]) -> FakeContext[P, R]:
    if isinstance(what, FakeContext):
        return what
    if isinstance(what, HandlerDefinition):
        return FakeContext(what)
    raise TypeError(f"a handler or a FakeContext of one can be performed, not a {type(what).__name__}")


def _json(handler: HandlerDefinition[..., Any], payload: Mapping[str, object]) -> str:
    return encode(handler.signature.check(payload))


def _middlewares(context: FakeContext[..., Any]) -> Sequence[Middleware]:
    definition = context.definition
    return definition.middlewares if context.app is None else context.app.middlewares_of(definition.name)
