"""A task as a request asks for it, made into the one that is stored; what the program declares of its handler holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from rolecall.app import App
from rolecall.client.requests import TaskOptions, entries, new_task
from rolecall.model.dedupe import Dedupe, DedupeMode, DedupeScope, FieldRule, MergeRule
from rolecall.model.errors import InvalidTask
from rolecall.model.retry import RetryKind, RetryPolicy
from rolecall.model.tasks import Need, NeedRule, NewTask
from rolecall.web.fields import Body, Id, Moment, Seconds, ShortText

__all__ = ["Batch", "Wish", "wanted", "wanted_batch"]

LONGEST_BATCH = 1_000
MOST_NEEDS = 1_000
LARGEST_INT = 2**31 - 1

Share = Annotated[float, Field(ge=0, le=1)]
Factor = Annotated[float, Field(ge=0, le=1_000)]
RetryDelay = Annotated[float, Field(ge=0, le=31_536_000)]


class WishedRetry(Body):
    """When a failed attempt is followed by the next one; durations in seconds."""

    kind: Annotated[RetryKind, Field(strict=False)]
    first: RetryDelay = 0.0
    factor: Factor = 1.0
    step: RetryDelay = 0.0
    cap: RetryDelay = 0.0
    jitter: Share = 0.0


class WishedDedupe(Body):
    """What becomes of the task where another has its dedupe_key; `merge` says how each field of the payloads merges."""

    mode: DedupeMode = "keep"
    scope: DedupeScope | None = None
    window: Seconds | None = None
    merge: dict[str, FieldRule] | None = None
    except_chain: Id | None = None


class WishedNeed(Body):
    """What must have finished first: a task, a chain, or (in a batch) the item that stands at a place before."""

    task: Id | None = None
    chain: Id | None = None
    item: Annotated[int, Field(ge=0, lt=LONGEST_BATCH)] | None = None
    name: ShortText | None = None
    on_failure: NeedRule = "fail"


class Wish(Body):
    """A task to enqueue; at least one of handler and role is said. Durations in seconds."""

    handler: ShortText | None = None
    role: ShortText | None = None
    payload: dict[str, Any] = Field(default_factory=dict)
    priority: Annotated[int, Field(ge=-100, le=100)] = 0
    scheduled_for: Moment | None = None
    after: Seconds | None = None
    key: ShortText | None = None
    dedupe_key: ShortText | None = None
    dedupe: WishedDedupe | None = None
    max_attempts: Annotated[int, Field(ge=0, le=LARGEST_INT, description="0 is without limit.")] | None = None
    retry: WishedRetry | None = None
    timeout: Annotated[float, Field(gt=0, le=3e9)] | None = None
    needs: Annotated[list[Id | WishedNeed], Field(max_length=MOST_NEEDS)] = Field(default_factory=list)


class Batch(Body):
    """Tasks to enqueue, all or none."""

    tasks: Annotated[list[Wish], Field(max_length=LONGEST_BATCH)]


def wanted(wish: Wish, app: App) -> NewTask:
    """Make the task. Raises InvalidTask, InvalidPayload, ContractBroken."""
    [task] = entries([_task(wish, (), app)], app)
    return task


def wanted_batch(batch: Batch, app: App) -> list[NewTask]:
    """Make the tasks. Raises InvalidTask, InvalidPayload, ContractBroken."""
    tasks: list[NewTask] = []
    for wish in batch.tasks:
        tasks.append(_task(wish, tasks, app))
    return list(entries(tasks, app))


def _task(wish: Wish, earlier: Sequence[NewTask], app: App) -> NewTask:
    options = _options(wish, earlier)
    if wish.handler is None:
        return NewTask(payload=wish.payload, **options)
    return new_task(wish.handler, wish.payload, options, app)


def _options(wish: Wish, earlier: Sequence[NewTask]) -> TaskOptions:
    return TaskOptions(
        role=wish.role,
        priority=wish.priority,
        scheduled_for=wish.scheduled_for,
        after=wish.after,
        key=wish.key,
        dedupe_key=wish.dedupe_key,
        dedupe=None if wish.dedupe is None else _dedupe(wish.dedupe),
        max_attempts=wish.max_attempts,
        retry=None if wish.retry is None else RetryPolicy(**wish.retry.model_dump()),
        timeout=wish.timeout,
        needs=[_need(need, earlier) for need in wish.needs],
    )


def _dedupe(wish: WishedDedupe) -> Dedupe:
    merge = None if wish.merge is None else MergeRule(fields=wish.merge)
    return Dedupe(mode=wish.mode, scope=wish.scope, window=wish.window, merge=merge, except_chain=wish.except_chain)


def _need(wish: int | WishedNeed, earlier: Sequence[NewTask]) -> Need:
    if isinstance(wish, int):
        return Need(wish)
    said = [each for each in (wish.task, wish.chain, wish.item) if each is not None]
    if len(said) != 1:
        raise InvalidTask("a need has one of task, chain and item", index=len(earlier))
    return Need(_needed(wish, earlier), wish.name, wish.chain is not None, wish.on_failure)


def _needed(wish: WishedNeed, earlier: Sequence[NewTask]) -> int | NewTask:
    if wish.item is None:
        return wish.task or wish.chain or 0
    if wish.item >= len(earlier):
        raise InvalidTask(f"item {wish.item} does not stand before it in the batch", index=len(earlier))
    return earlier[wish.item]
