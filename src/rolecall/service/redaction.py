"""Redacts payloads and results by the schemas of their handlers.

The services return only redacted values. Handlers, clients and readers of the database see everything.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rolecall.model.chains import Chain, ChainPart
from rolecall.model.errors import InvalidPayload
from rolecall.model.large import is_placeholder, pointers_for_display
from rolecall.model.operator.details import Document
from rolecall.model.outcomes import UnstoredResult
from rolecall.model.redaction import REDACTED, Redaction, union
from rolecall.model.tasks import Needed, NewTask, Task
from rolecall.service.database import Database
from rolecall.sql import roles

NOTHING = Redaction(None)


@dataclass(frozen=True, slots=True)
class Redactions:
    """The redactions of some handlers, for their payloads and results."""

    payloads: Mapping[str, Redaction]
    results: Mapping[str, Redaction]

    def payload(self, handler: str | None, value: Any) -> Any:
        """Return a redacted payload, in which large values are shown as pointers."""
        return pointers_for_display(self.of_payload(handler).redact(value))

    def result(self, handler: str | None, value: Any) -> Any:
        """Return a redacted result; None if there is none yet."""
        if value is None or isinstance(value, UnstoredResult):
            return value
        return self.results.get(handler or "", NOTHING).redact(value)

    def of_payload(self, handler: str | None) -> Redaction:
        """Return the redaction of a handler's payloads."""
        return self.payloads.get(handler or "", NOTHING)


async def redactions(database: Database, handlers: Iterable[str | None]) -> Redactions:
    """Read the redactions of handlers."""
    names = {name for name in handlers if name}
    return redactions_of(await database.run(roles.hiding_schemas(names)) if names else [])


def redactions_of(schemas: Sequence[tuple[str, Any, Any]]) -> Redactions:
    """Build the redactions of handlers from the rows of `roles.hiding_schemas`."""
    payloads: defaultdict[str, list[Any]] = defaultdict(list)
    results: defaultdict[str, list[Any]] = defaultdict(list)
    for name, payload, result in schemas:
        payloads[name].append(payload)
        results[name].append(result)
    return Redactions(
        payloads={name: Redaction(union(each)) for name, each in payloads.items()},
        results={name: Redaction(union(each)) for name, each in results.items()},
    )


async def redact_tasks(database: Database, tasks: Sequence[Task]) -> list[Task]:
    """Return tasks with redacted payloads and results."""
    hidden = await redactions(database, (task.handler for task in tasks))
    return [
        replace(
            task, payload=hidden.payload(task.handler, task.payload), result=hidden.result(task.handler, task.result)
        )
        for task in tasks
    ]


async def redact_chain(database: Database, chain: Chain) -> Chain:
    """Return a redacted chain. Its payload belongs to its first handler, its result to its last one."""
    hidden = await redactions(database, (chain.handler, chain.last_handler))
    payload, result = hidden.payload(chain.handler, chain.payload), hidden.result(chain.last_handler, chain.result)
    return replace(chain, payload=payload, result=result)


async def redact_parts(database: Database, parts: Sequence[ChainPart]) -> list[ChainPart]:
    """Return the redacted tasks of a chain."""
    hidden = await redactions(database, (part.task.handler for part in parts))
    return [
        part
        if part.large
        else replace(
            part,
            payload=hidden.payload(part.task.handler, part.payload),
            result=hidden.result(part.task.handler, part.result),
        )
        for part in parts
    ]


async def redact_documents(
    database: Database, handler: str, payload: Document, result: Document | None
) -> tuple[Document, Document | None]:
    """Return a task's redacted payload and result."""
    hidden = await redactions(database, [handler])
    if not payload.left_out:
        payload = replace(payload, value=hidden.payload(handler, payload.value))
    if result is not None and not result.left_out:
        result = replace(result, value=hidden.result(handler, result.value))
    return payload, result


async def redact_needs(database: Database, needs: Iterable[Needed]) -> list[Needed]:
    """Return needs with redacted results."""
    all_needs = list(needs)
    hidden = await redactions(database, (need.handler for need in all_needs))
    return [replace(need, result=hidden.result(need.handler, need.result)) for need in all_needs]


async def require_complete(database: Database, tasks: Sequence[NewTask]) -> None:
    """Raise InvalidPayload for a payload that was copied from a response and contains `[redacted]` or a pointer.

    Accepting a pointer would let callers make a worker read any stored value.
    """
    hidden = await redactions(database, (task.handler or task.role for task in tasks))
    for task in tasks:
        handler = task.handler or task.role or ""
        if (problem := pointer_problem(task.payload)) is not None:
            raise InvalidPayload(problem, handler=handler)
        _, place = hidden.of_payload(handler).restore(task.payload, {})
        if place is not None:
            raise InvalidPayload(placeholder_problem(place), handler=handler)


def pointer_problem(payload: object) -> str | None:
    """Return the problem of a payload that contains a pointer; None if it contains none."""
    fields = payload if isinstance(payload, Mapping) else {}
    pointer = next((name for name, value in fields.items() if is_placeholder(value)), None)
    return None if pointer is None else f"it contains a pointer instead of the value - at `$.{pointer}`"


def placeholder_problem(place: Sequence[str | int]) -> str:
    """Return the problem of a payload with `[redacted]` at this place."""
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return f"{REDACTED!r} is a placeholder for a redacted value; give the value itself - at `${path}`"
