"""Decides who may come in: by keys and logins only, unless nobody but this machine can reach the server."""

from __future__ import annotations

from rolecall.config import AuthMode
from rolecall.model.errors import ConfigError
from rolecall.service.database import Database
from rolecall.sql import access

__all__ = ["Entrance", "mode_for"]


def mode_for(asked: AuthMode | None, *, private: bool, as_root: bool) -> AuthMode:
    """Say by what one comes in, at an address that only this machine can reach or at another one.

    Raises ConfigError rather than let everybody on a network in, or let everybody on this machine be root: who may
    enqueue any task has the handlers' rights.
    """
    if not private and asked is AuthMode.off:
        raise _refused(asked, "off would let everybody in who can reach this address; it is for 127.0.0.1 and ::1 only")
    if not private and asked is AuthMode.token:
        raise _refused(asked, "the token is for 127.0.0.1 and ::1 only: others come in by API key or login")
    if as_root and asked is AuthMode.off:
        raise _refused(asked, "off would let every account of this machine do what root may: serve as somebody else")
    return asked or (AuthMode.token if private else AuthMode.keys)


class Entrance:
    """The door of the API, before it is opened to a network."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def require_somebody(self) -> None:
        """Raise ConfigError where nobody could come in."""
        if not await self._database.run(access.anybody()):
            raise ConfigError(
                "at an address that others can reach an API key is needed, and there is none yet: make one with "
                "`rolecall keys create NAME --scope admin`, or add a person with `rolecall people add NAME`",
                variable="ROLECALL_HTTP",
            )


def _refused(asked: AuthMode, problem: str) -> ConfigError:
    return ConfigError(problem, variable="ROLECALL_AUTH", value=asked)
