"""The root of every error."""

from __future__ import annotations


class RolecallError(Exception):
    """The root of every error that Rolecall raises on purpose."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
