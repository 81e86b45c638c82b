"""Reading a task's result as the type that its handler declares."""

from __future__ import annotations

from typing import Any, Protocol, Self


class ReadsResult(Protocol):
    """Reads the stored results of one handler's tasks as the type that the handler declares."""

    handler: str

    def read(self, stored: Any) -> Any:
        """Return the result for JSON values, or an UnreadableResult."""


class KnowsResult:
    """Stores the reader of a task's result outside the dataclass fields, so that it is not compared, pickled or
    sent.
    """

    __slots__ = ("_returns",)

    @property
    def returns(self) -> ReadsResult | None:
        """The reader of the task's result; None if the handler was given by name or declares no type."""
        return getattr(self, "_returns", None)

    def reading(self, returns: ReadsResult | None) -> Self:
        """Set the reader and return this object."""
        if returns is not None:
            object.__setattr__(self, "_returns", returns)
        return self
