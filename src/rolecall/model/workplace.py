"""Where a worker works, for those who prepare it: which database, and which roles are served there."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Workplace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """What a lifespan may ask for: the worker's database, which `dsn` reaches (with its password), and its roles.

    No roles means every role.
    """

    dsn: str = field(repr=False)
    roles: tuple[str, ...] = ()

    def serves_any(self, *roles: str) -> bool:
        """Whether a task of one of these roles may come here."""
        return not self.roles or not set(self.roles).isdisjoint(roles)
