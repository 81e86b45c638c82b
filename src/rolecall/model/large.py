"""Large values: the pointers that rows store instead, and the interface of the stores."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from rolecall.model.tasks import Enqueued, Need, NewTask, NextTasks

ELSEWHERE = "payload field stored elsewhere"
POINTER = frozenset({"rolecall", "store", "path", "bytes", "sha256"})
SHOWN = re.compile(r"\[kept elsewhere, \d+ bytes\]")


class KeepsLarge(Protocol):
    """Stores large payload fields, and large results as a middleware; `detached` and `attached` block."""

    def detached(self, batch: Sequence[NewTask], handlers: Container[str]) -> Sequence[NewTask]:
        """Store the large fields of these handlers' tasks and return the tasks with pointers. Raises PayloadMissing."""

    def attached(self, payload_json: str) -> str:
        """Return a stored payload with all its fields. Raises PayloadMissing."""

    async def __call__(self, ctx: Any, call_next: Any, /) -> object:
        """Run an attempt, and store its result elsewhere if it is large."""


def is_pointer(value: object) -> bool:
    """Return whether a payload field is a pointer."""
    return isinstance(value, Mapping) and value.keys() == POINTER and value["rolecall"] == ELSEWHERE


def pointers_in(payload_json: str) -> list[str]:
    """Return the names of a stored payload's fields that are pointers."""
    return [name for name, value in json.loads(payload_json).items() if is_pointer(value)]


def pointers_for_display(payload: Any) -> Any:
    """Return a payload for display: pointers are replaced by the size of the field, without its location."""
    if not isinstance(payload, Mapping) or not any(map(is_pointer, payload.values())):
        return payload
    return {
        name: f"[kept elsewhere, {value['bytes']} bytes]" if is_pointer(value) else value
        for name, value in payload.items()
    }


def is_placeholder(value: object) -> bool:
    """Return whether a field is a pointer, or the text that is displayed for one."""
    return is_pointer(value) or (isinstance(value, str) and SHOWN.fullmatch(value) is not None)


def with_payloads(batch: Sequence[NewTask], change: Callable[[NewTask], Mapping[str, object]]) -> list[NewTask]:
    """Return tasks with changed payloads; needs within the batch refer to the changed tasks."""
    made: dict[int, NewTask] = {}
    for task in batch:
        payload = change(task)
        needs = [_replace_task(need, made) for need in task.needs]
        changed = payload is not task.payload or any(new is not old for new, old in zip(needs, task.needs, strict=True))
        made[id(task)] = replace(task, payload=payload, needs=needs) if changed else task
    return [made[id(task)] for task in batch]


def with_next(tasks: NextTasks, change: Callable[[Sequence[NewTask]], Sequence[NewTask]]) -> NextTasks:
    """Return the next tasks, with each batch changed."""
    return replace(
        tasks,
        follow_ups=[*change(tasks.follow_ups)],
        children=[*change(tasks.children)],
        siblings=[*change(tasks.siblings)],
        continuation=None if tasks.continuation is None else change([tasks.continuation])[0],
    )


def _replace_task(
    need: Need | int | Enqueued | NewTask, made: Mapping[int, NewTask]
) -> Need | int | Enqueued | NewTask:
    if isinstance(need, Need):
        return need if (task := _replace_task(need.task, made)) is need.task else replace(need, task=task)  # type: ignore[arg-type]  # never a Need
    return made.get(id(need), need) if isinstance(need, NewTask) else need
