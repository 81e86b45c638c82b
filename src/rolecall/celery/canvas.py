"""Signatures and their composition: chains, groups and chords.

A canvas is flattened into a list of steps, each a task or a group. A chord is a group followed by a step. The first
step is enqueued with the others in its payload; whatever completes a step creates the next one in the same transaction
(`rolecall.celery.attempts`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from rolecall.celery.current import AnyApp, current
from rolecall.celery.missing import OF_A_TASK, sentence
from rolecall.celery.result import AsyncResult, GroupResult
from rolecall.model.errors import InvalidTask

GROUP, TASK = "group", "task"
LINK = "link"
Step = dict[str, Any]


class Canvas(ABC):
    """Something that can be enqueued, and composed with `|`."""

    @abstractmethod
    def steps(self, app: AnyApp) -> list[Step]:
        """Return the steps in order, with unparsed options."""

    @abstractmethod
    def linked(self) -> AnyApp | None:
        """Return the app that it belongs to, if known."""

    def delay(self, *args: Any, **kwargs: Any) -> AsyncResult | GroupResult:
        """Enqueue it, with these arguments prepended to those of the first step."""
        return self.apply_async(args, kwargs)

    def apply_async(
        self, args: Iterable[Any] | None = None, kwargs: Mapping[str, Any] | None = None, **options: Any
    ) -> AsyncResult | GroupResult:
        """Enqueue it, with arguments prepended to those of the first step, and options for that step.

        `connection=` shares your transaction. Raises TypeError if the arguments do not fit the task, InvalidTask for an
        option without an equivalent, and the errors of `Client.enqueue`.
        """
        app = self.linked() or current()
        connection = options.pop("connection", None)
        links = options.pop(LINK, None)
        steps = _not_empty(self.steps(app))
        if links is not None:
            add_links(steps[-1], [each.steps(app) for each in _list_of_links(links)])
        for first in steps[0].get(GROUP, [steps[:1]]):
            _add_arguments(first[0], tuple(args or ()), dict(kwargs or {}), options)
        _read_options(app, steps)
        if GROUP in steps[0] and len(steps) == 1:
            drafts = [app.draft(member) for member in steps[0][GROUP]]
            stored = app.client.enqueue_many(drafts, connection=connection)
            return GroupResult([AsyncResult(each.id, app) for each in stored])
        return AsyncResult(app.client.enqueue(app.draft(steps), connection=connection).id, app)

    def __or__(self, after: Canvas) -> chain:
        return chain(self, after)

    def apply(self, *_args: Any, **_kwargs: Any) -> Any:
        """Raise InvalidTask: there is no eager mode."""
        raise InvalidTask(sentence("apply", OF_A_TASK))


class Signature(Canvas):
    """A deferred call: a task's name, arguments and options."""

    def __init__(  # sizes: each is an argument of the call
        self,
        task: str,
        args: Iterable[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        *,
        immutable: bool = False,
        app: AnyApp | None = None,
    ) -> None:
        self.task = task
        self.args = tuple(args)
        self.kwargs = dict(kwargs or {})
        self.options = dict(options or {})
        self.immutable = immutable
        self._app = app

    def set(self, *, immutable: bool | None = None, **options: Any) -> Self:
        """Change options of this signature and return it."""
        if immutable is not None:
            self.immutable = immutable
        self.options |= options
        return self

    def link(self, after: Canvas) -> Canvas:
        """Enqueue `after` once the task has completed, with its result as the first argument. Return `after`."""
        self.options[LINK] = [*_list_of_links(self.options.get(LINK)), after]
        return after

    def clone(self, args: Iterable[Any] = (), kwargs: Mapping[str, Any] | None = None, **options: Any) -> Signature:
        """Return a copy with prepended arguments and additional options."""
        return Signature(
            self.task,
            (*args, *self.args),
            {**self.kwargs, **(kwargs or {})},
            {**self.options, **options},
            immutable=self.immutable,
            app=self._app,
        )

    def linked(self) -> AnyApp | None:
        return self._app

    def steps(self, app: AnyApp) -> list[Step]:
        options = dict(self.options)
        links = [each.steps(app) for each in _list_of_links(options.pop(LINK, None))]
        step: Step = {
            TASK: self.task,
            "args": list(self.args),
            "kwargs": dict(self.kwargs),
            "options": options,
            "immutable": self.immutable,
        }
        add_links(step, links)
        return [step]

    def __repr__(self) -> str:
        arguments = [*map(repr, self.args), *(f"{name}={value!r}" for name, value in self.kwargs.items())]
        return f"{self.task}({', '.join(arguments)})"


class CompositeCanvas(Canvas):
    """A canvas composed of others."""

    def __init__(self, *parts: Any) -> None:
        self.tasks = _flat(parts)

    def linked(self) -> AnyApp | None:
        return _find_app(self.tasks)

    def __call__(self, *args: Any, **kwargs: Any) -> AsyncResult | GroupResult:
        """Enqueue it."""
        return self.apply_async(args, kwargs)


class chain(CompositeCanvas):  # noqa: N801 - Celery's name for it
    """Tasks one after another. Each receives the previous result as its first argument."""

    def steps(self, app: AnyApp) -> list[Step]:
        return [step for part in self.tasks for step in part.steps(app)]


class group(CompositeCanvas):  # noqa: N801 - Celery's name for it
    """Tasks in parallel. The step that follows receives the list of their results."""

    def steps(self, app: AnyApp) -> list[Step]:
        return [{GROUP: [_not_empty(part.steps(app)) for part in self.tasks]}]


class chord(Canvas):  # noqa: N801 - Celery's name for it
    """A group followed by a body, which receives the list of its results."""

    def __init__(self, header: Any, body: Canvas | None = None) -> None:
        self.header = header if isinstance(header, group) else group(header)
        self.body = body

    def linked(self) -> AnyApp | None:
        return self.header.linked()

    def steps(self, app: AnyApp) -> list[Step]:
        if self.body is None:
            raise InvalidTask("a chord needs a body: chord(header)(body)")
        return [*self.header.steps(app), *self.body.steps(app)]

    def __call__(self, body: Canvas | None = None, **options: Any) -> AsyncResult | GroupResult:
        """Enqueue it with this body."""
        return chord(self.header, body or self.body).apply_async(**options)


def signature(  # sizes: each is an argument of the call
    task: Any,
    args: Iterable[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    immutable: bool = False,
    app: AnyApp | None = None,
    **more: Any,
) -> Signature:
    """Create a signature of a task, given by its name or itself."""
    name = task if isinstance(task, str) else task.name
    return Signature(name, args, kwargs, {**(options or {}), **more}, immutable=immutable, app=app)


def add_links(step: Step, links: Sequence[list[Step]]) -> None:
    """Let steps follow a task's completion. Raises InvalidTask for a group, which has no completion of its own."""
    if links and GROUP in step:
        raise InvalidTask("link= has no equivalent for a group: write group(...) | task, which receives all results")
    if links:
        step[LINK] = [*step.get(LINK, []), *links]


def _not_empty(steps: list[Step]) -> list[Step]:
    if not steps:
        raise InvalidTask("the chain is empty")
    return steps


def _read_options(app: AnyApp, steps: Sequence[Step]) -> None:
    """Convert the options of each step to plain values. Raises InvalidTask for those without an equivalent."""
    for step in steps:
        if GROUP not in step:
            step["options"] = app.options(step[TASK], step["options"])
        for inner in (*step.get(GROUP, ()), *step.get(LINK, ())):
            _read_options(app, inner)


def _add_arguments(step: Step, args: tuple[Any, ...], kwargs: dict[str, Any], options: Mapping[str, Any]) -> None:
    if GROUP in step:
        for member in step[GROUP]:
            _add_arguments(member[0], args, kwargs, options)
        return
    if not step["immutable"]:
        step["args"] = [*args, *step["args"]]
        step["kwargs"] = {**step["kwargs"], **kwargs}
    step["options"] = {**step["options"], **options}


def _flat(parts: Sequence[Any]) -> list[Canvas]:
    if len(parts) == 1 and not isinstance(parts[0], Canvas):
        parts = tuple(parts[0])
    for part in parts:
        if not isinstance(part, Canvas):
            raise InvalidTask(f"{part!r} is not a signature: write task.s(...)")
    return list(parts)


def _find_app(parts: Sequence[Canvas]) -> AnyApp | None:
    return next((app for part in parts if (app := part.linked()) is not None), None)


def _list_of_links(links: Any) -> list[Canvas]:
    if links is None:
        return []
    return [links] if isinstance(links, Canvas) else list(links)
