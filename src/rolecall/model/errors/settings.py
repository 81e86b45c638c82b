"""Errors about settings."""

from __future__ import annotations

from rolecall.model.errors.root import RolecallError


class ConfigError(RolecallError):
    """A setting cannot be used."""

    def __init__(self, problem: str, *, variable: str, value: object = None) -> None:
        super().__init__(f"{variable}: {problem}")
        self.variable = variable
        self.value = value
