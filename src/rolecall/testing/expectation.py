"""A task as a test expects it: handler, payload fields, options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from datetime import datetime, timedelta
from typing import Any

import msgspec

from rolecall.app import HandlerDefinition
from rolecall.model.codecs import encode_value
from rolecall.model.durations import in_seconds
from rolecall.model.hints import option_hint, require_options
from rolecall.model.reading import ReadsResult
from rolecall.model.tasks import NewTask, Task, TaskOptions

AnyHandler = HandlerDefinition[..., Any] | NewTask | str
# The stored facts of a task. `after` is relative to the enqueue.
OPTIONS = {"state", "after", "parent_id", "chain_id", "origin_id", "attempt"} | (
    TaskOptions.__annotations__.keys() & {field.name for field in fields(Task)}
)
CLOSE = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """An expected task. Payload fields that are not named can have any value, also in nested objects."""

    handler: str | None
    payload: Mapping[str, object]
    options: Mapping[str, object]
    returns: ReadsResult | None = None

    def __str__(self) -> str:
        texts = [f"{name}={value!r}" for name, value in (*self.payload.items(), *self.options.items())]
        of = "" if self.handler is None else f" of {self.handler!r}"
        return f"task{of} with {', '.join(texts)}" if texts else f"task{of}"

    def is_met_by(self, task: Task) -> bool:
        return next(self.differences(task), None) is None

    def differences(self, task: Task) -> Iterator[str]:
        """Return how a task differs from the expectation, starting with the handler."""
        if self.handler not in (None, task.handler):
            yield f"the handler is {task.handler!r}"
        yield from _payload_differences("", self.payload, task.payload)
        for name, value in self.options.items():
            found = _option_of(task, name)
            if not _is_option(name, value, found):
                yield f"{name} is {_format_value(found)}, not {_format_value(value)}"


def read_expectation(what: object, payload: Mapping[str, object] | None, words: Mapping[str, Any]) -> Expectation:
    """Read the arguments of an assertion, which are those of an enqueue: payload fields and options.

    If the payload is given as one object, all keywords are options. Raises TypeError for a keyword that is neither a
    field nor an option, or that could be both, and for an option that is not stored.
    """
    options = {word: value for word, value in words.items() if payload is not None or word in OPTIONS}
    fields_by_keyword = {word: value for word, value in words.items() if word not in options}
    expected = dict(payload or fields_by_keyword)
    name: str | None = None
    returns: ReadsResult | None = None
    match what:
        case NewTask():
            name, expected, options = what.handler, {**what.payload, **expected}, {**_options_of(what), **options}
            returns = what.returns
        case HandlerDefinition():
            _require_fields(what, expected, words if payload is None else {})
            own_options = {word: value for word, value in what.task_options.items() if word != "connection"}
            name, options, returns = what.name, {**own_options, **options}, what.returns
        case str() | None:
            name = what
        case _:
            raise TypeError(f"expected a handler, its name or a task, got {type(what).__name__}")
    _require_stored_options(options)
    return Expectation(handler=name, payload=expected, options=options, returns=returns)


def _options_of(task: NewTask) -> dict[str, object]:
    ignored_names = {"handler", "payload", "trace_context", "returns"}
    options = {}
    for field in fields(NewTask):
        value = getattr(task, field.name)
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        if field.name not in ignored_names and value != default:
            options[field.name] = value
    return options


def _require_fields(
    handler: HandlerDefinition[..., Any], expected: Mapping[str, object], words: Mapping[str, object]
) -> None:
    known_fields = handler.signature.fields
    for word in known_fields.keys() & OPTIONS & words.keys():
        raise TypeError(
            f"{word}= is a field of {handler.name!r} and an option of a task: give the payload as one argument"
        )
    # A missing field never matches, unless it is expected to be missing.
    for word in expected.keys() - known_fields.keys() if known_fields and handler.strict else ():
        hint = option_hint(word, {*known_fields, *OPTIONS})
        raise TypeError(f"{word}= is neither a field of {handler.name!r} nor an option{hint}")


def _require_stored_options(options: Mapping[str, object]) -> None:
    require_options(options, OPTIONS, "a stored task")
    moment = options.get("scheduled_for")
    if isinstance(moment, datetime) and moment.tzinfo is None:
        raise ValueError(f"scheduled_for needs a time zone, got {moment.isoformat()}")


def _payload_differences(path: str, expected: Mapping[str, object], found: Mapping[str, object]) -> Iterator[str]:
    for name, value in expected.items():
        place = f"{path}{name}"
        if name not in found:
            yield f"there is no {place}"
        elif isinstance(value, Mapping) and isinstance(inner := found[name], Mapping):
            yield from _payload_differences(f"{place}.", value, inner)
        elif not _is_value(value, found[name]):
            yield f"{place} is {found[name]!r}, not {value!r}"


def _is_value(value: object, found: object) -> bool:
    return bool(value == found) or bool(_plain(value) == found)


def _plain(value: object) -> object:
    """Convert a value to JSON types. Matchers such as unittest.mock.ANY stay as they are."""
    try:
        return msgspec.to_builtins(value, str_keys=True, enc_hook=encode_value)
    except (TypeError, ValueError):
        return value


def _option_of(task: Task, name: str) -> object:
    return task.scheduled_for - task.created_at if name == "after" else getattr(task, name)


def _is_option(name: str, value: Any, found: Any) -> bool:
    if isinstance(found, datetime) and isinstance(value, datetime):
        return abs(found - value) <= CLOSE
    if name == "after" and (seconds := _seconds(value)) is not None:
        return bool(abs(found.total_seconds() - seconds) <= CLOSE.total_seconds())
    if name == "timeout":
        value = _seconds(value)
    if name == "max_attempts":
        value = value or None
    return bool(value == found)


def _seconds(value: Any) -> float | None:
    return in_seconds(value) if isinstance(value, int | float | timedelta) else None


def _format_value(value: object) -> str:
    return (
        value.isoformat()
        if isinstance(value, datetime)
        else str(value)
        if isinstance(value, timedelta)
        else repr(value)
    )
