"""Celery's task object: a function with `delay` and signatures. Bound tasks also have `request` and `retry`."""

from __future__ import annotations

import inspect
import random
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, NoReturn

from rolecall.celery.canvas import Signature
from rolecall.celery.current import AnyApp, Request, current, current_request
from rolecall.celery.exceptions import MaxRetriesExceededError, Retry
from rolecall.celery.missing import OF_A_TASK, sentence
from rolecall.celery.options import DeclaredOptions
from rolecall.celery.result import META, STATE, AsyncResult, GroupResult
from rolecall.model.errors import InvalidDeclaration, InvalidTask
from rolecall.worker.context import Context


class Task:
    """A task.

        @app.task(bind=True, max_retries=5)
        def charge(self, order: int) -> str:
            try:
                return pay(order)
            except ConnectionError as error:
                raise self.retry(exc=error, countdown=30)

        charge.delay(7)

    Calling a task calls its function; `delay` enqueues it for a worker.
    """

    def __init__(self, function: Callable[..., Any], name: str, options: DeclaredOptions, app: AnyApp | None) -> None:
        update_wrapper(self, function)
        self.name = name
        self.options = options
        self._function = function
        self._app = app

    @property
    def app(self) -> AnyApp:
        """The app that declared it, or the most recent one for a shared task. Raises ConfigError if there is none."""
        return self._app or current()

    @property
    def function(self) -> Callable[..., Any]:
        return self._function

    @property
    def max_retries(self) -> int | None:
        """The maximum number of retries. None means unlimited."""
        return self.options.max_retries

    @property
    def default_retry_delay(self) -> float:
        """The default delay of `retry`, in seconds."""
        return self.options.default_retry_delay

    @property
    def request(self) -> Request:
        """The current attempt, or an empty request."""
        return current_request()

    @property
    def context(self) -> Context:
        """Rolecall's context of the current attempt. Raises InvalidTask if there is none."""
        found = current_request().context
        if found is None:
            raise InvalidTask(f"{self.name} was called as a function, without an attempt")
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function directly."""
        return self.run(*args, **kwargs)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(self, *args, **kwargs) if self.options.bind else self._function(*args, **kwargs)

    def delay(self, *args: Any, **kwargs: Any) -> AsyncResult:
        return self.apply_async(args, kwargs)

    def apply_async(
        self, args: Iterable[Any] | None = None, kwargs: Mapping[str, Any] | None = None, **options: Any
    ) -> AsyncResult:
        """Enqueue it with countdown, eta, expires, queue, priority, link or time_limit.

        `connection=` shares a transaction. Raises TypeError for arguments that do not fit and for unknown options,
        InvalidPayload for values that JSON does not preserve, InvalidTask for an option without an equivalent, and the
        errors of `Client.enqueue`.
        """
        answer = self.signature(args or (), kwargs).apply_async(**options)
        assert not isinstance(answer, GroupResult)  # noqa: S101 - a signature is not a group
        return answer

    def signature(
        self,
        args: Iterable[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        immutable: bool = False,
        **options: Any,
    ) -> Signature:
        """Create a signature with these arguments and options."""
        return Signature(self.name, args, kwargs, options, immutable=immutable, app=self._app)

    def s(self, *args: Any, **kwargs: Any) -> Signature:
        """Create a signature. In a chain, the previous result is prepended to these arguments."""
        return self.signature(args, kwargs)

    def si(self, *args: Any, **kwargs: Any) -> Signature:
        """Create an immutable signature, which does not receive the previous result."""
        return self.signature(args, kwargs, immutable=True)

    def retry(  # sizes: each is an argument of the call
        self,
        args: Any = None,
        kwargs: Any = None,
        exc: BaseException | None = None,
        *,
        countdown: float | None = None,
        eta: datetime | None = None,
        max_retries: int | None = None,
        throw: bool = True,
    ) -> NoReturn:
        """End this attempt and retry after `countdown` seconds or at `eta`.

        The task's error is `exc`, or the exception being handled. If no attempt is left, raises `exc` or
        MaxRetriesExceededError; outside of an attempt, raises the error itself. Raises InvalidTask for other arguments,
        because a task keeps those of its enqueue.
        """
        require_retry_arguments(args, kwargs, throw=throw)
        request = current_request()
        most = self.max_retries if max_retries is None else max_retries
        cause = exc or sys.exception()
        if request.called_directly:
            raise cause or Retry(f"{self.name} can be retried", after=0)
        if most is not None and request.retries >= most:
            raise exc or MaxRetriesExceededError(f"{self.name} was retried {request.retries} times")
        allowed = self.options.most_retries
        if allowed is not None and (most is None or most > allowed):
            raise InvalidDeclaration(f"{self.name} may be retried {allowed} times: declare it with max_retries={most}")
        moment = eta if eta is None or eta.tzinfo else eta.replace(tzinfo=UTC)
        delay = None if moment else (self.default_retry_delay if countdown is None else countdown)
        raise Retry(after=delay, at=moment) from cause

    def retry_by_itself(self, error: Exception) -> None:
        """Raise Retry for an error in `autoretry_for`, or the error itself if no attempt is left."""
        options = self.options
        if isinstance(error, options.dont_autoretry_for) or not isinstance(error, options.autoretry_for):
            return
        words = dict(options.retry_kwargs or {})
        if options.retry_backoff:
            words["countdown"] = backoff(options, current_request().retries)
        self.retry(exc=error, **words)

    def update_state(self, task_id: str | None = None, state: str | None = None, meta: Any = None) -> None:
        """Write a state and metadata into the task's info, shown by AsyncResult while the task runs."""
        if task_id is not None and task_id != current_request().id:
            raise InvalidTask("update_state(task_id=) has no equivalent: a task can only update itself")
        self.context.wait(self.context.info({STATE: state, META: meta}))

    def AsyncResult(self, task_id: str | int) -> AsyncResult:  # noqa: N802 - Celery's name for it
        """Return the outcome of the task with this id."""
        return AsyncResult(task_id, self._app)

    def parameters(self) -> inspect.Signature:
        """Return the function's signature, without a bound task's `self`. Raises InvalidDeclaration for a coroutine."""
        if inspect.iscoroutinefunction(self._function):
            raise InvalidDeclaration(
                f"task {self.name!r} is async: declare it with app.rolecall.task, and enqueue that"
            )
        whole = inspect.signature(self._function)
        return whole.replace(parameters=list(whole.parameters.values())[1:]) if self.options.bind else whole

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(sentence(name, OF_A_TASK, type(self)))

    def __repr__(self) -> str:
        return f"<task: {self.name}>"


def require_retry_arguments(args: object, kwargs: object, *, throw: bool) -> None:
    """Raise InvalidTask for other arguments of a retry, and for one that does not end the attempt."""
    if args is not None or kwargs is not None or not throw:
        raise InvalidTask("retry(args=, kwargs=, throw=False) has no equivalent: enqueue another task, and return")


def backoff(options: DeclaredOptions, retries: int) -> float:
    """Return Celery's backoff: the factor, doubled each time up to the maximum. With jitter, a random part of that."""
    longest = min(options.retry_backoff_max, max(1.0, float(options.retry_backoff)) * 2**retries)
    return random.uniform(0, longest) if options.retry_jitter else longest
