"""By what systems outside recognise a request that they have seen before."""

from __future__ import annotations

__all__ = ["IdempotencyKey"]


class IdempotencyKey(str):
    """The key of one step of one task, as text; called with a suffix, that of one request among several.

    await charge(order, idempotency_key=ctx.idempotency_key)
    await notify(order, idempotency_key=ctx.idempotency_key("mail"))

    It is the same at every attempt, after a snooze and after a retry by hand, and another one in the step after the
    children.
    """

    __slots__ = ()

    def __call__(self, suffix: str) -> str:
        """Return the key of one request of this step; another suffix is another request."""
        return f"{self}:{suffix}"
