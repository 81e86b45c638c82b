"""What a task meets whose next step its handler does not have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rolecall.model.errors import PermanentFailure

__all__ = ["NoGather"]


@dataclass(frozen=True, slots=True)
class NoGather:
    """Stands for the second step of a handler that has none any more: its tasks fail and say so."""

    handler: str
    takes_context: bool = False

    def decode(self, payload_json: str | bytes) -> str | bytes:
        """Leave the payload as it is."""
        return payload_json

    async def call(self, _context: object, _payload: object) -> Any:
        """Fail the task for good."""
        raise PermanentFailure(
            f"the children have finished, but handler {self.handler!r} has no gather step (any more)"
        )
