"""Stands in the place of a result that has no JSON form, or is too large."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from rolecall.model.errors import ResultNotStored

__all__ = ["MARK", "UnstoredResult", "why_unstored"]

MARK = "result not stored"


@dataclass(frozen=True, slots=True, eq=False)
class UnstoredResult:
    """What is read where a completed task has a result that could not be stored; `why` says so.

    Whoever uses it as if it were the result is told by ResultNotStored; only `is`, `isinstance`, `repr` and its own
    fields are free.
    """

    why: str
    rolecall: str = MARK

    def _refuse(self, *_: object) -> NoReturn:
        raise ResultNotStored(self.why)

    def __getattr__(self, name: str) -> Any:
        """Refuse what a result might have; what Python itself looks for is simply not there."""
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    __bool__ = __len__ = __iter__ = __next__ = __contains__ = __getitem__ = __call__ = _refuse
    __str__ = __format__ = __int__ = __float__ = __index__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __or__ = __ror__ = __truediv__ = _refuse
    __hash__ = object.__hash__


def why_unstored(result: object) -> str | None:
    """Say why a result could not be stored; None where it is one."""
    return result.why if isinstance(result, UnstoredResult) else None
