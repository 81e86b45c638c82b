"""After-commit calls and in-process notifications of both clients."""

from __future__ import annotations

from functools import partial
from inspect import iscoroutinefunction

from rolecall.db.after_commit import AfterCommit, Call
from rolecall.model.errors import ConfigError
from rolecall.transport.in_process import THIS_PROCESS


def require_block(client: object) -> AfterCommit:
    """Return the client's current transaction. Raises ConfigError outside of one."""
    surrounding = AfterCommit.of(client)
    if surrounding is None:
        raise ConfigError(
            "requires a client.transaction() block; after your own transaction, whose commit the client cannot see, "
            "make the call yourself",
            variable="after_commit",
        )
    return surrounding


def require_sync(call: Call) -> Call:
    """Return a synchronous function. Raises TypeError for an async one."""
    if iscoroutinefunction(call):
        raise TypeError(f"{call!r} is async: Client makes plain calls, AsyncClient awaits them")
    return call


def notify_workers(client: object, channel: str, joined: object | None) -> None:
    """Notify the workers of this process that listen in-process, after the commit.

    The commit of the caller's own transaction cannot be observed; workers then find the tasks by polling.
    """
    notify = partial(THIS_PROCESS.say, channel, "")
    if joined is None:
        notify()
    elif (surrounding := AfterCommit.of(client)) and surrounding.connection is joined:
        surrounding.add(notify)
