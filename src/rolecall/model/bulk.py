"""One action on many tasks at once: what is done, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["BulkAction", "BulkOutcome"]

BulkAction = Literal["retry", "cancel", "delete"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkOutcome:
    """How many tasks were meant, how often each outcome came, and the first 100 ids, newest first.

    `more` says that beyond the limit others match, or may. A dry run changes nothing and has no outcomes.
    """

    action: BulkAction
    dry_run: bool
    matched: int
    more: bool
    outcomes: Mapping[str, int]
    ids: list[int]
