"""The Celery app: its public API, and `rolecall`, the App for workers."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, overload

from rolecall.app import App
from rolecall.celery.canvas import Signature
from rolecall.celery.configuration import Configuration
from rolecall.celery.current import AnyApp, make_current
from rolecall.celery.missing import NO_PART, OF_AN_APP, OF_CELERY, sentence
from rolecall.celery.options import parse_declaration
from rolecall.celery.program import SHARED, Program
from rolecall.celery.result import AsyncResult, GroupResult
from rolecall.celery.tasks import Task
from rolecall.client.sync_client import Client
from rolecall.db.pools import Pool
from rolecall.model.errors import ConfigError, InvalidDeclaration, InvalidTask

MAIN = "__main__"


class Celery:
    """A replacement for Celery's app.

        app = Celery("shop")
        app.conf.timezone = "Europe/Berlin"

        @app.task(queue="mail", max_retries=5)
        def greet(name): ...

    `rolecall worker --app shop:app.rolecall` runs its tasks. They are enqueued to `database` (a connection string or a
    psycopg pool; the default is that of `rolecall.Client`). The broker only determines the order of priorities, and the
    backend is ignored. Raises InvalidDeclaration for other arguments of Celery's app.
    """

    def __init__(  # sizes: each is an argument of the declaration
        self,
        main: str = "celery",
        *,
        broker: str | None = None,
        backend: str | None = None,
        include: Sequence[str] = (),
        config_source: Any = None,
        namespace: str | None = None,
        set_as_current: bool = True,
        database: str | Pool | None = None,
        **others: Any,
    ) -> None:
        for word in others:
            raise InvalidDeclaration(f"Celery({word}=...) has no equivalent: {OF_CELERY.get(word, NO_PART)}")
        self.main = main
        self.conf = Configuration()
        self.conf.update({"broker_url": broker, "result_backend": backend, "include": tuple(include)})
        self.program = Program(main, self.conf, database, self._prepare)
        self.on_after_configure = Signal()
        self.on_after_finalize = Signal()
        self.control = Control(self.program)
        self._discovered: list[tuple[Iterable[str] | None, str]] = []
        if config_source is not None:
            self.config_from_object(config_source, namespace=namespace)
        if set_as_current:
            make_current(self.program, self)

    @property
    def rolecall(self) -> App:
        """The App, for `rolecall worker --app shop:app.rolecall`, for clients and for tests."""
        return self.program.app

    @property
    def client(self) -> Client:
        """The client that enqueues the tasks of this app."""
        return self.program.client

    @property
    def tasks(self) -> Mapping[str, Task]:
        """The tasks by name, including shared ones."""
        return self.program.tasks

    @overload
    def task(self, function: Callable[..., Any], **options: Any) -> Task: ...

    @overload
    def task(self, function: None = None, **options: Any) -> Callable[[Callable[..., Any]], Task]: ...

    def task(self, function: Callable[..., Any] | None = None, **options: Any) -> Any:
        """Declare a task: `@app.task`, or `@app.task(bind=True, queue="mail")`.

        Raises InvalidDeclaration for an option without an equivalent, TypeError for an unknown option.
        """
        if function is None:
            return partial(self._declare, options=options)
        return self._declare(function, options)

    def _declare(self, function: Callable[..., Any], options: Mapping[str, Any]) -> Task:
        task = _make_task(function, options, self.program, self.main)
        self.program.own[task.name] = task
        return task

    def config_from_object(self, source: Any, *, namespace: str | None = None, silent: bool = False) -> None:
        """Read settings from an object, a mapping or a named module. With a namespace, names start with it.

        Raises ConfigError for a missing module, unless `silent`, and InvalidDeclaration for a rejected setting.
        """
        begin = f"{namespace}_" if namespace else ""
        for name, value in _settings(source, silent=silent).items():
            if name.startswith(begin) and not name.startswith("_") and (begin or name in {name.lower(), name.upper()}):
                self.conf[name.removeprefix(begin).lower() if begin else name] = value

    def autodiscover_tasks(
        self, packages: Iterable[str] | None = None, related_name: str = "tasks", *, force: bool = False
    ) -> None:
        """Import the tasks module of each package on first use of the app. The default is Django's installed apps."""
        self._discovered.append((packages, related_name))
        if force:
            self.finalize()

    def finalize(self) -> None:
        """Complete the app: import its modules, declare its tasks and schedules."""
        _ = self.rolecall

    def add_periodic_task(
        self,
        schedule: Any,
        sig: Signature,
        args: Iterable[Any] = (),
        kwargs: Any = None,
        name: str | None = None,
        **opts: Any,
    ) -> str:
        """Declare a schedule from a number of seconds, a timedelta or a crontab, and a signature. Return its name."""
        whole = sig.clone(args, kwargs, **opts)
        entry_name = name or repr(whole)
        self.program.periodic[entry_name] = {
            "task": whole.task,
            "schedule": schedule,
            "args": whole.args,
            "kwargs": whole.kwargs,
            "options": whole.options,
        }
        return entry_name

    def send_task(
        self, name: str, args: Iterable[Any] | None = None, kwargs: Mapping[str, Any] | None = None, **options: Any
    ) -> AsyncResult | GroupResult:
        """Enqueue a task by name. A task that this program does not define accepts only keyword arguments.

        Raises the errors of `Task.apply_async`.
        """
        return self.signature(name, args or (), kwargs).apply_async(**options)

    def signature(self, task: Any, args: Iterable[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Signature:
        """Create a signature of a task, given by its name or itself."""
        return Signature(task if isinstance(task, str) else task.name, args, kwargs, app=self.program)

    def AsyncResult(self, task_id: str | int) -> AsyncResult:  # noqa: N802 - Celery's name for it
        """Return the outcome of the task with this id."""
        return AsyncResult(task_id, self.program)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(sentence(name, OF_AN_APP, type(self)))

    def __repr__(self) -> str:
        return f"<Celery {self.main}>"

    def _prepare(self) -> None:
        for module in (*self.conf.include, *self.conf.imports):
            importlib.import_module(module)
        for packages, name in self._discovered:
            for package in _of_django() if packages is None else packages:
                _import_if_there(f"{package}.{name}")
        self.on_after_configure.send(self)
        self.on_after_finalize.send(self)


class Signal:
    """Calls functions with the app once its settings are complete: `@app.on_after_configure.connect`."""

    def __init__(self) -> None:
        self._receivers: list[Callable[..., object]] = []

    def connect(self, receiver: Callable[..., object] | None = None, **_options: Any) -> Any:
        if receiver is None:
            return self.connect
        self._receivers.append(receiver)
        return receiver

    def send(self, sender: Celery) -> None:
        for receiver in self._receivers:
            receiver(sender=sender)


class Control:
    """Control of workers: `app.control.revoke(id)`. Use the command line or the dashboard for everything else."""

    def __init__(self, app: AnyApp) -> None:
        self._app = app

    def revoke(self, task_id: Any, *, terminate: bool = False, signal: object = None) -> None:
        """Cancel tasks by their ids. With `terminate`, running ones are cancelled as well."""
        for each in [task_id] if isinstance(task_id, str | int) else task_id:
            AsyncResult(each, self._app).revoke(terminate=terminate, signal=signal)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"control.{name} has no equivalent: use `rolecall workers list`, `tasks list` and `tasks cancel`"
        )


@overload
def shared_task(function: Callable[..., Any], **options: Any) -> Task: ...


@overload
def shared_task(function: None = None, **options: Any) -> Callable[[Callable[..., Any]], Task]: ...


def shared_task(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Declare a task for all apps: `@shared_task`, or `@shared_task(bind=True)`.

    Raises InvalidDeclaration for an option without an equivalent, TypeError for an unknown option.
    """
    if function is None:
        return partial(_share, options=options)
    return _share(function, options)


def _share(function: Callable[..., Any], options: Mapping[str, Any]) -> Task:
    task = _make_task(function, options, None, MAIN)
    SHARED[task.name] = task
    return task


def _make_task(function: Callable[..., Any], options: Mapping[str, Any], app: AnyApp | None, main: str) -> Task:
    module = function.__module__
    name = options.get("name") or f"{main if module == MAIN else module}.{function.__name__}"
    return Task(function, name, parse_declaration(name, options), app)


def _settings(source: Any, *, silent: bool) -> Mapping[str, Any]:
    if isinstance(source, Mapping):
        return source
    if isinstance(source, str):
        try:
            source = resolve_name(source)
        except (ImportError, AttributeError) as error:
            if silent:
                return {}
            raise ConfigError(f"{source!r} cannot be imported: {error}", variable="config_from_object") from error
    return {name: getattr(source, name) for name in dir(source)}


def _import_if_there(module: str) -> None:
    """Import a tasks module. A missing module is ignored, an error inside it is not."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise


def _of_django() -> list[str]:
    django = sys.modules.get("django.apps")
    if django is None:
        raise InvalidTask("autodiscover_tasks() needs the names of packages without Django")
    return [each.name for each in django.apps.get_app_configs()]
