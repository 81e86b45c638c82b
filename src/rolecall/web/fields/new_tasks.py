"""Converts requests for tasks into tasks to store, with the defaults that the app declares for their handlers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, cast

from fastapi import Request
from pydantic import Field

from rolecall.app import App
from rolecall.client.requests import admitted_tasks, new_task
from rolecall.model.dedupe import Dedupe, DedupeMode, DedupeScope, FieldRule, MergeRule
from rolecall.model.errors import InvalidTask
from rolecall.model.retry import RetryKind, RetryPolicy
from rolecall.model.tasks import Need, NeedRule, NewTask, TaskOptions
from rolecall.web.fields.aliases import SecondNames
from rolecall.web.fields.parameters import Body, Id, Moment, OpenBody, Seconds, ShortText, agreed

LONGEST_BATCH = 1_000
MOST_NEEDS = 1_000
LARGEST_INT = 2**31 - 1
TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
LONGEST_TRACESTATE = 512

Share = Annotated[float, Field(ge=0, le=1)]
Factor = Annotated[float, Field(ge=0, le=1_000)]
RetryDelay = Annotated[float, Field(ge=0, le=31_536_000)]


class RetryRequest(Body):
    """When a failed attempt is retried. Durations are in seconds."""

    kind: Annotated[RetryKind, Field(strict=False)]
    first: RetryDelay = 0.0
    factor: Factor = 1.0
    step: RetryDelay = 0.0
    cap: RetryDelay = 0.0
    jitter: Share = 0.0


class DedupeRequest(Body):
    """The effect of a duplicate on the existing task. `merge` sets how each field of the payloads is merged."""

    mode: DedupeMode = "keep"
    scope: DedupeScope | None = None
    window: Seconds | None = None
    merge: dict[str, FieldRule] | None = None
    except_chain: Id | None = None


class NeedRequest(Body):
    """A task or chain that must finish first, or an earlier item of the batch, by its index."""

    task: Id | None = None
    chain: Id | None = None
    item: Annotated[int, Field(ge=0, lt=LONGEST_BATCH)] | None = None
    name: ShortText | None = None
    on_failure: NeedRule = "fail"


class TaskRequest(OpenBody):
    """A task to enqueue. At least one of `handler` and `role` is required. Durations are in seconds.

    `max_retries` is `max_attempts` less the first attempt. An expired task does not start. Field aliases of the app are
    accepted next to the payload.
    """

    handler: ShortText | None = None
    role: ShortText | None = None
    payload: dict[str, Any] = Field(default_factory=dict)
    priority: Annotated[int, Field(ge=-100, le=100)] = 0
    scheduled_for: Moment | None = None
    after: Seconds | None = None
    key: ShortText | None = None
    dedupe_key: ShortText | None = None
    dedupe: DedupeRequest | None = None
    max_attempts: Annotated[int, Field(ge=0, le=LARGEST_INT, description="0 means unlimited.")] | None = None
    max_retries: Annotated[int, Field(ge=0, lt=LARGEST_INT)] | None = None
    retry: RetryRequest | None = None
    timeout: Annotated[float, Field(gt=0, le=3e9)] | None = None
    expires: Annotated[float, Field(gt=0, le=3e9, description="Seconds after the due time.")] | None = None
    expires_at: Moment | None = None
    needs: Annotated[list[Id | NeedRequest], Field(max_length=MOST_NEEDS)] = Field(default_factory=list)


# The options that a request has in the same form.
UNCHANGED = (TaskRequest.model_fields.keys() & TaskOptions.__annotations__) - {
    "dedupe",
    "expires",
    "max_attempts",
    "needs",
    "retry",
}


class Batch(Body):
    """Tasks to enqueue: all or none."""

    tasks: Annotated[list[TaskRequest], Field(max_length=LONGEST_BATCH)]


def read_task(request: TaskRequest, app: App, names: SecondNames) -> NewTask:
    """Return the task to store. Raises InvalidTask, InvalidPayload, ContractBroken, FilterError,
    RequestValidationError.
    """
    [task] = admitted_tasks([_task(request, (), app, names)], app)
    return task


def read_batch(batch: Batch, app: App, names: SecondNames) -> list[NewTask]:
    """Return the tasks to store. Raises the same errors as `read_task`."""
    tasks: list[NewTask] = []
    for request in batch.tasks:
        tasks.append(_task(request, tasks, app, names))
    return list(admitted_tasks(tasks, app))


def trace_of(request: Request) -> str | None:
    """Return the W3C trace context of a request, for its tasks. An invalid one is ignored, as W3C specifies."""
    traceparent = request.headers.get("traceparent", "")
    if not TRACEPARENT.fullmatch(traceparent):
        return None
    tracestate = request.headers.get("tracestate", "")
    return f"{traceparent} {tracestate}" if 0 < len(tracestate) <= LONGEST_TRACESTATE else traceparent


def _task(request: TaskRequest, earlier: Sequence[NewTask], app: App, names: SecondNames) -> NewTask:
    options = _options(request, earlier)
    payload = names.payload(request.model_extra, request.payload)
    # By default, the handler has the name of the role.
    handler = request.handler or (request.role if request.role in app.handlers else None)
    if handler is None:
        return NewTask(payload=payload, **options)
    return new_task(handler, payload, options, app)


def _options(request: TaskRequest, earlier: Sequence[NewTask]) -> TaskOptions:
    options: dict[str, Any] = {name: getattr(request, name) for name in UNCHANGED}
    converted = TaskOptions(
        dedupe=None if request.dedupe is None else _dedupe(request.dedupe),
        max_attempts=agreed("max_attempts", request.max_attempts, "max_retries", _attempts(request.max_retries)),
        retry=None if request.retry is None else RetryPolicy(**request.retry.model_dump()),
        expires=_expiry(request, len(earlier)),
        needs=[_need(need, earlier) for need in request.needs],
    )
    return cast("TaskOptions", options | converted)


def _expiry(request: TaskRequest, index: int) -> float | datetime | None:
    if request.expires is not None and request.expires_at is not None:
        raise InvalidTask("expires and expires_at exclude each other: give one of them", index=index)
    return request.expires if request.expires_at is None else request.expires_at


def _attempts(retries: int | None) -> int | None:
    return None if retries is None else retries + 1


def _dedupe(request: DedupeRequest) -> Dedupe:
    merge = None if request.merge is None else MergeRule(fields=request.merge)
    return Dedupe(
        mode=request.mode, scope=request.scope, window=request.window, merge=merge, except_chain=request.except_chain
    )


def _need(request: int | NeedRequest, earlier: Sequence[NewTask]) -> Need:
    if isinstance(request, int):
        return Need(request)
    given = [each for each in (request.task, request.chain, request.item) if each is not None]
    if len(given) != 1:
        raise InvalidTask("a need must have exactly one of task, chain and item", index=len(earlier))
    return Need(_read_need(request, earlier), request.name, request.chain is not None, request.on_failure)


def _read_need(request: NeedRequest, earlier: Sequence[NewTask]) -> int | NewTask:
    if request.item is None:
        return request.task or request.chain or 0
    if request.item >= len(earlier):
        raise InvalidTask(f"item {request.item} is not an earlier item of the batch", index=len(earlier))
    return earlier[request.item]
