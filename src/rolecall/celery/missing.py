"""Names of Celery's API that have no equivalent, with the replacement of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NoReturn

from rolecall.model.hints import close_to

INLINE = "rolecall.testing.inline(app.rolecall, connection)"
MANY = "app.client.enqueue_many(...), or a group of signatures"
JOIN = "apply_async(..., connection=...) shares your transaction"
MIDDLEWARE = "a middleware sees every attempt and its error: app.rolecall.use(...)"
LIFESPAN = "a lifespan sets up and closes resources of a worker: App(lifespan=...)"
SINK = "an event sink receives every outcome: app.rolecall.add_sink(...)"
OF_A_TASK: Mapping[str, str] = {
    "apply": f"call the task as a function, or run the enqueued task with {INLINE}",
    "apply_async_on_commit": JOIN,
    "backend": "results are in the database: app.AsyncResult(id) reads them",
    "chunks": MANY,
    "delay_on_commit": JOIN,
    "map": MANY,
    "replace": "return a value, and let the caller write a chain",
    "send_event": "self.update_state(meta=...) reports progress",
    "starmap": MANY,
    "subtask": "use signature(...)",
}
OF_A_RESULT: Mapping[str, str] = {
    "backend": "results are in the database",
    "children": "app.client.tree(id) reads the tasks that a task created",
    "collect": "use get() of each result",
    "forget": "results are deleted after result_expires",
    "graph": "the dashboard shows the tree of a task",
    "iterdeps": "app.client.tree(id) reads the tasks that a task created",
    "parent": "app.client.get(id).parent_id names the parent",
    "then": "link= enqueues a task with the result",
}
OF_AN_APP: Mapping[str, str] = {
    "Beat": "workers fire schedules: there is no beat process",
    "Worker": "use `rolecall worker --app shop:app.rolecall`",
    "backend": "results are in the database: app.AsyncResult(id) reads them",
    "bugreport": "use `rolecall doctor`",
    "connection": "there is no broker",
    "events": SINK,
    "register_task": "declare a function with @app.task",
    "start": "use `rolecall worker --app shop:app.rolecall`",
    "steps": LIFESPAN,
    "worker_main": "use `rolecall worker --app shop:app.rolecall`",
}
# Arguments of Celery(...).
NO_PART = "Celery's own parts cannot be exchanged"
OF_CELERY: Mapping[str, str] = {"task_cls": MIDDLEWARE}
EXCEPTIONS: Mapping[str, str] = {
    "ImproperlyConfigured": "invalid settings raise rolecall.ConfigError or rolecall.InvalidDeclaration",
    "NotRegistered": "an unknown handler raises rolecall.HandlerMissing",
    "OperationalError": "an unreachable database raises rolecall.DatabaseUnavailable",
    "Reject": "raise Ignore to cancel the task, or rolecall.PermanentFailure to fail it",
    "SoftTimeLimitExceeded": "threads cannot be interrupted: use time_limit, and call self.context.check() "
    "between steps, which raises rolecall.HandlerAborted",
    "TimeLimitExceeded": "a task over its time_limit fails with rolecall.HandlerTimeout",
    "WorkerLostError": "a task of a lost worker runs again",
}
SIGNALS: Mapping[str, str] = {
    "after_task_publish": SINK,
    "before_task_publish": "pass the values as arguments",
    "celeryd_init": LIFESPAN,
    "setup_logging": "use the logging of your program: docs/guides/logging.md",
    "task_failure": f"{MIDDLEWARE}; {SINK}",
    "task_internal_error": SINK,
    "task_postrun": MIDDLEWARE,
    "task_prerun": MIDDLEWARE,
    "task_rejected": SINK,
    "task_retry": MIDDLEWARE,
    "task_revoked": SINK,
    "task_success": f"{MIDDLEWARE}; {SINK}",
    "worker_init": LIFESPAN,
    "worker_process_init": LIFESPAN,
    "worker_process_shutdown": LIFESPAN,
    "worker_ready": LIFESPAN,
    "worker_shutdown": LIFESPAN,
    "worker_shutting_down": LIFESPAN,
}
# By the module of Celery, without `celery.`.
MODULES: Mapping[str, Mapping[str, str]] = {"exceptions": EXCEPTIONS, "signals": SIGNALS}


def sentence(name: str, hints: Mapping[str, str], valid: object = None) -> str:
    """Return the error for a name without an equivalent: its replacement, or the nearest name of `valid`."""
    if name in hints:
        return f"{name} has no equivalent: {hints[name]}"
    # Libraries look up private names of any object, so these must cost nothing.
    public = [] if name.startswith("_") else [each for each in dir(valid) if not each.startswith("_")]
    return f"{name} has no equivalent: rolecall.celery does not provide it{close_to(name, public)}"


def names_of(module: str) -> Callable[[str], NoReturn]:
    """Return `__getattr__` of a module of this package.

    It raises ImportError, because `from module import name` hides the text of an AttributeError.
    """

    def reject(name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise ImportError(f"celery.{module}.{sentence(name, MODULES.get(module, {}))}")

    return reject
