"""The global state that Celery code expects: the current app and the current attempt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from rolecall.client.sync_client import Client
from rolecall.model.errors import ConfigError
from rolecall.model.tasks import NewTask

if TYPE_CHECKING:
    from rolecall.worker.context import Context

# Means that there is no previous result. None can be a result.
NOTHING: Any = object()
Step = Mapping[str, Any]


class AnyApp(Protocol):
    """A Celery app, as used by the other modules."""

    @property
    def client(self) -> Client:
        """The client of the app, which is finalized."""

    @property
    def tasks(self) -> Mapping[str, Any]:
        """The tasks by name."""

    @property
    def ignores_results(self) -> bool:
        """Whether results are dropped by default."""

    def options(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Convert the options of a call to plain values. Raises InvalidTask for those without an equivalent."""

    def draft(self, steps: Sequence[Step], result: Any = NOTHING) -> NewTask:
        """Create the task of the first step. The previous result becomes its first argument."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The current attempt, available to bound tasks as `self.request`. Empty outside of an attempt."""

    id: str | None = None
    task: str | None = None
    retries: int = 0
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    root_id: str | None = None
    parent_id: str | None = None
    delivery_info: Mapping[str, Any] = field(default_factory=dict)
    context: Context | None = None

    @property
    def called_directly(self) -> bool:
        """True if the task was called as a function."""
        return self.context is None


class Current:
    """The most recently created app."""

    def __init__(self) -> None:
        self.app: AnyApp | None = None
        self.face: Any = None


CURRENT = Current()
REQUEST: ContextVar[Request] = ContextVar("rolecall.celery.request", default=Request())  # noqa: B039 - it is frozen


def make_current(app: AnyApp, face: object) -> None:
    """Make this the current app."""
    CURRENT.app, CURRENT.face = app, face


def current() -> AnyApp:
    """Return the most recently created app. Raises ConfigError if there is none."""
    if CURRENT.app is None:
        raise ConfigError("no app: create one first, Celery('shop')", variable="app")
    return CURRENT.app


class CurrentApp:
    """A proxy for the most recently created app. Raises ConfigError if there is none."""

    def __getattr__(self, name: str) -> Any:
        current()
        return getattr(CURRENT.face, name)


class CurrentTask:
    """A proxy for the task that runs in this context. Raises ConfigError if there is none."""

    @property
    def request(self) -> Request:
        """The current attempt, or an empty request."""
        return current_request()

    def __getattr__(self, name: str) -> Any:
        task = current_request().task
        if task is None:
            raise ConfigError("no task is running here", variable="current_task")
        return getattr(current().tasks[task], name)


def current_request() -> Request:
    """Return the current attempt, or an empty request."""
    return REQUEST.get()


@contextmanager
def attempt(request: Request) -> Iterator[None]:
    """Make this the current attempt within the block."""
    before = REQUEST.set(request)
    try:
        yield
    finally:
        REQUEST.reset(before)


current_app = CurrentApp()
current_task = CurrentTask()
