"""What callers write by mistake for a task to enqueue, and what they are told."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from inspect import iscoroutine
from typing import Any

from rolecall.app import App
from rolecall.model.errors import HandlerMissing, UnknownRole
from rolecall.model.tasks import NewTask

__all__ = ["no_handler", "require_known", "require_options", "suggesting"]


def no_handler(what: object) -> TypeError:
    """Make the error for what is neither a handler nor its name nor a task."""
    if iscoroutine(what):
        name = what.cr_code.co_name
        what.close()  # or Python complains of it at some other time and place
        return TypeError(
            f"{name}(...) was called, which is left to a worker: give the handler itself, enqueue({name}, ...)"
        )
    if isinstance(what, Callable):  # type: ignore[arg-type]  # as documented for isinstance
        name = getattr(what, "__name__", type(what).__name__)
        return TypeError(f"{name} is no handler: declare it with @app.task, or give the name of a handler")
    return TypeError(f"a handler, its name or a task can be enqueued, not a {type(what).__name__}")


def require_options(options: Collection[str], known: Collection[str]) -> None:
    """Raise TypeError for a word that is no option of a task: most likely it belongs into the payload."""
    for word in options:
        if word not in known:
            hint = _close_to(word, known) or f"; the payload is one argument: enqueue(handler, {{{word!r}: ...}})"
            raise TypeError(f"{word}= is no option of a task{hint}")


def require_known(handler: str, app: App) -> None:
    """Raise HandlerMissing for the name of a handler that the app does not have."""
    if handler not in _handlers(app):
        raise HandlerMissing(handler=handler, hint=_close_to(handler, _handlers(app)))


@contextmanager
def suggesting(batch: Sequence[NewTask], app: App | None) -> Iterator[None]:
    """Let UnknownRole tell which handler was meant, where it was only named, and misspelt."""
    try:
        yield
    except UnknownRole as error:
        named = [task.handler for task in batch if task.handler is not None and task.role is None]
        unknown = [name for name in named if app is not None and name not in _handlers(app)]
        if app is None or not unknown:
            raise
        raise UnknownRole(f"no handler {unknown[0]!r} is known{_close_to(unknown[0], _handlers(app))}") from error


def _handlers(app: App) -> list[str]:
    return [*app.handlers, *app.procedures]


def _close_to(word: str, known: Collection[Any]) -> str:
    close = get_close_matches(word, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
