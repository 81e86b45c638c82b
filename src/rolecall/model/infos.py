"""How what children told adds up: numbers of one name are summed, of anything else the last child's value stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Fact", "Facts", "sum_up"]

BEFORE = 0


@dataclass(frozen=True, slots=True)
class Fact:
    """What several children told under one name: the sum if all are numbers, and the last one's value and id."""

    sum: float | None
    last: Any
    last_id: int

    def __add__(self, other: Fact) -> Fact:
        later = max(self, other, key=lambda fact: fact.last_id)
        total = None if self.sum is None or other.sum is None else self.sum + other.sum
        return Fact(total, later.last, later.last_id)

    @property
    def value(self) -> Any:
        """What the parent's info says."""
        return self.last if self.sum is None else self.sum


Facts = Mapping[str, Fact]


def sum_up(
    before: Mapping[str, Any], children: Facts, parents: Iterable[tuple[int, Mapping[str, Any]]]
) -> dict[str, Any]:
    """Add what earlier steps' children told, what childless children tell, and the infos of those with children."""
    facts = dict(children)
    for task_id, info in [(BEFORE, before), *parents]:
        for name, value in info.items():
            fact = Fact(_number(value), value, task_id)
            facts[name] = facts[name] + fact if name in facts else fact
    return {name: fact.value for name, fact in facts.items()}


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
