"""Which app a program means that names none, and which attempt runs here: Celery's code asks for both by globals."""

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

__all__ = [
    "NOTHING",
    "AnyApp",
    "Request",
    "Step",
    "attempt",
    "current",
    "current_app",
    "current_task",
    "make_current",
    "running",
]

# Stands for "no result is handed on", as None is a result.
NOTHING: Any = object()
Step = Mapping[str, Any]


class AnyApp(Protocol):
    """What the parts of the shim ask of a Celery app."""

    @property
    def client(self) -> Client:
        """What enqueues; the app is complete from then on."""

    @property
    def tasks(self) -> Mapping[str, Any]:
        """Its tasks by name."""

    @property
    def ignores_results(self) -> bool:
        """Whether results of tasks that say nothing of it are dropped."""

    def options(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Read the options of a call as plain values; raise InvalidTask for what has no equivalent."""

    def draft(self, steps: Sequence[Step], result: Any = NOTHING) -> NewTask:
        """Make the task that begins these steps; the result of the one before is its first argument."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a bound task may ask of the attempt that runs, as `self.request`; all empty outside of one."""

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
        """True where the task was called as a function."""
        return self.context is None


class Current:
    """The app that was made last, and its face."""

    def __init__(self) -> None:
        self.app: AnyApp | None = None
        self.face: Any = None


CURRENT = Current()
REQUEST: ContextVar[Request] = ContextVar("rolecall.celery.request", default=Request())  # noqa: B039 - it is frozen


def make_current(app: AnyApp, face: object) -> None:
    """Let this app be meant from now on."""
    CURRENT.app, CURRENT.face = app, face


def current() -> AnyApp:
    """Return the app that was made last; raise ConfigError where none was."""
    if CURRENT.app is None:
        raise ConfigError("there is no app: make one first, Celery('shop')", variable="app")
    return CURRENT.app


class CurrentApp:
    """Stands for the app that was made last; raises ConfigError where none was."""

    def __getattr__(self, name: str) -> Any:
        current()
        return getattr(CURRENT.face, name)


class CurrentTask:
    """Stands for the task whose attempt runs here; raises ConfigError where none does."""

    @property
    def request(self) -> Request:
        """The attempt; empty where none runs."""
        return running()

    def __getattr__(self, name: str) -> Any:
        task = running().task
        if task is None:
            raise ConfigError("no task runs here", variable="current_task")
        return getattr(current().tasks[task], name)


def running() -> Request:
    """Return the attempt that runs here."""
    return REQUEST.get()


@contextmanager
def attempt(request: Request) -> Iterator[None]:
    """Let this be the attempt that runs within the block."""
    before = REQUEST.set(request)
    try:
        yield
    finally:
        REQUEST.reset(before)


current_app = CurrentApp()
current_task = CurrentTask()
