"""The options that select tasks, shared by all commands that act on many."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from inspect import Parameter
from typing import Annotated, Any, Concatenate, ParamSpec

from typer import Option

from rolecall.cli.shell import Shell
from rolecall.cli.values import read_date
from rolecall.model.operator.insight import TaskFilter
from rolecall.model.operator.task_query import combine, read_query

P = ParamSpec("P")

OPTIONS: tuple[tuple[str, type, str, str], ...] = (
    ("state", str, "STATE", "A state or status: failed, ready, hanging ..."),
    ("role", str, "ROLE", "Only these roles, separated by commas."),
    ("handler", str, "HANDLER", "Only these handlers, separated by commas."),
    ("key", str, "KEY", "Only this key."),
    ("worker", int, "ID", "Only tasks that this worker runs or ran last."),
    ("chain", int, "ID", "Only this chain."),
    ("parent", int, "ID", "Only the children of this task."),
    ("roots", bool, "", "No children."),
    ("text", str, "TEXT", "Only with this text in the handler, key, dedupe key, error or payload."),
    ("created_from", str, "DATE", "Created at this time or later."),
    ("created_to", str, "DATE", "Created before this time."),
    ("finished_from", str, "DATE", "Finished at this time or later."),
    ("finished_to", str, "DATE", "Finished before this time."),
    ("error_group", int, "ID", "Only failed tasks of this error group."),
    ("query", str, "QUERY", "Only tasks that match a query: 'role:mail error~429 payload.store:58 age>1h'."),
)
FIELDS = {"worker": "worker_id", "chain": "chain_id", "parent": "parent_id"}


def with_filter(body: Callable[Concatenate[Shell, TaskFilter, P], None]) -> Callable[..., None]:
    """Add the filter options to a command. It receives the filter as its second argument."""
    shell, _which, *own = inspect.signature(body, eval_str=True).parameters.values()
    options = [_option(*word) for word in OPTIONS]

    @wraps(body)
    def command(shell: Shell, *args: P.args, **given: P.kwargs) -> None:
        words = {name: given.pop(name) for name, *_ in OPTIONS}
        body(shell, _filter(words), *args, **given)

    command.__signature__ = inspect.Signature([shell, *own, *options])  # type: ignore[attr-defined]  # typer reads it
    return command


def _option(name: str, kind: type, metavar: str, meaning: str) -> Parameter:
    flag = f"--{name.replace('_', '-')}"
    if kind is bool:
        return Parameter(
            name, Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, Option(flag, help=meaning)]
        )
    option = Option(flag, metavar=metavar, help=meaning)
    annotation = Annotated[int | None, option] if kind is int else Annotated[str | None, option]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _filter(words: dict[str, Any]) -> TaskFilter:
    dated = ("created_from", "created_to", "finished_from", "finished_to")
    dates = {name: read_date(words.pop(name)) for name in dated if words[name] is not None}
    query = words.pop("query")
    which = TaskFilter(**{FIELDS.get(name, name): value for name, value in words.items()} | dates)
    return which if query is None else combine(which, read_query(query))
