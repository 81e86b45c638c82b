"""A task as Celery's code has it: a function with `delay`, signatures, and in a bound one its request and `retry`."""

from __future__ import annotations

import inspect
import random
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import update_wrapper
from typing import Any, NoReturn

from rolecall.celery.canvas import Signature
from rolecall.celery.current import AnyApp, Request, current, running
from rolecall.celery.exceptions import MaxRetriesExceededError, Retry
from rolecall.celery.options import Declared
from rolecall.celery.result import META, STATE, AsyncResult, GroupResult
from rolecall.model.errors import InvalidDeclaration, InvalidTask
from rolecall.worker.context import Context

__all__ = ["Task", "backoff"]


class Task:
    """A task: call it and you call the function itself, `delay` it and a worker does.

    @app.task(bind=True, max_retries=5)
    def charge(self, order: int) -> str:
        try:
            return pay(order)
        except ConnectionError as error:
            raise self.retry(exc=error, countdown=30)

    charge.delay(7)
    """

    def __init__(self, function: Callable[..., Any], name: str, options: Declared, app: AnyApp | None) -> None:
        update_wrapper(self, function)
        self.name = name
        self.options = options
        self._function = function
        self._app = app

    @property
    def app(self) -> AnyApp:
        """The app that it was declared with; for a shared one that which was made last. Raises ConfigError."""
        return self._app or current()

    @property
    def function(self) -> Callable[..., Any]:
        """The function, as it was written."""
        return self._function

    @property
    def max_retries(self) -> int | None:
        """How often it is repeated at most; None is no limit."""
        return self.options.max_retries

    @property
    def default_retry_delay(self) -> float:
        """How many seconds `retry` waits that says nothing else."""
        return self.options.default_retry_delay

    @property
    def request(self) -> Request:
        """The attempt that runs; empty where none does."""
        return running()

    @property
    def context(self) -> Context:
        """Rolecall's own view of that attempt; raises InvalidTask where none runs."""
        found = running().context
        if found is None:
            raise InvalidTask(f"{self.name} was called as a function: no attempt runs")
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function here and now."""
        return self.run(*args, **kwargs)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function here and now."""
        return self._function(self, *args, **kwargs) if self.options.bind else self._function(*args, **kwargs)

    def delay(self, *args: Any, **kwargs: Any) -> AsyncResult:
        """Enqueue it with these arguments."""
        return self.apply_async(args, kwargs)

    def apply_async(
        self, args: Iterable[Any] | None = None, kwargs: Mapping[str, Any] | None = None, **options: Any
    ) -> AsyncResult:
        """Enqueue it: with countdown, eta, expires, queue, priority, link, time_limit; `connection=` joins your
        transaction.

        Raises TypeError for arguments that do not fit and for what is no option, InvalidPayload for values that JSON
        would change, InvalidTask for an option without equivalent, and what `Client.enqueue` raises.
        """
        answer = self.signature(args or (), kwargs).apply_async(**options)
        assert not isinstance(answer, GroupResult)  # noqa: S101 - a signature is no group
        return answer

    def signature(
        self,
        args: Iterable[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        immutable: bool = False,
        **options: Any,
    ) -> Signature:
        """Make a call of it that is not made yet."""
        return Signature(self.name, args, kwargs, options, immutable=immutable, app=self._app)

    def s(self, *args: Any, **kwargs: Any) -> Signature:
        """Make a signature: in a chain, the result of the task before comes before these arguments."""
        return self.signature(args, kwargs)

    def si(self, *args: Any, **kwargs: Any) -> Signature:
        """Make a signature that is given no result."""
        return self.signature(args, kwargs, immutable=True)

    def retry(  # sizes: each is a word of the call
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
        """End this attempt, and let the next one come after `countdown` seconds or at `eta`.

        `exc`, else what is being handled, is the task's error meanwhile. Raises `exc`, else MaxRetriesExceededError,
        where no attempt is left; outside of one, the error itself. Raises InvalidTask for other arguments: a task keeps
        those that it was enqueued with.
        """
        if args is not None or kwargs is not None or not throw:
            raise InvalidTask("retry(args=, kwargs=, throw=False) has no equivalent: enqueue another task, and return")
        request = running()
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
        """Raise Retry for an error of `autoretry_for`, and the error itself where no attempt is left."""
        options = self.options
        if isinstance(error, options.dont_autoretry_for) or not isinstance(error, options.autoretry_for):
            return
        words = dict(options.retry_kwargs or {})
        if options.retry_backoff:
            words["countdown"] = backoff(options, running().retries)
        self.retry(exc=error, **words)

    def update_state(self, task_id: str | None = None, state: str | None = None, meta: Any = None) -> None:
        """Write into the task's info what an AsyncResult shows as its state and info while it runs."""
        if task_id is not None and task_id != running().id:
            raise InvalidTask("update_state(task_id=) has no equivalent: a task tells of itself")
        self.context.wait(self.context.info({STATE: state, META: meta}))

    def AsyncResult(self, task_id: str | int) -> AsyncResult:  # noqa: N802 - Celery's name for it
        """Ask for a task by its id."""
        return AsyncResult(task_id, self._app)

    def parameters(self) -> inspect.Signature:
        """The function's signature, without `self` in a bound one; raises InvalidDeclaration for a coroutine."""
        if inspect.iscoroutinefunction(self._function):
            raise InvalidDeclaration(
                f"task {self.name!r} is async: declare it with app.rolecall.task, and enqueue that"
            )
        whole = inspect.signature(self._function)
        return whole.replace(parameters=list(whole.parameters.values())[1:]) if self.options.bind else whole

    def __repr__(self) -> str:
        return f"<task: {self.name}>"


def backoff(options: Declared, retries: int) -> float:
    """Celery's: the factor, doubled each time, up to the maximum; with jitter anything up to that."""
    longest = min(options.retry_backoff_max, max(1.0, float(options.retry_backoff)) * 2**retries)
    return random.uniform(0, longest) if options.retry_jitter else longest
