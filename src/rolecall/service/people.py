"""What an operator may do with the people who log in; and their sessions.

Passwords come here as hashes only: what makes and compares them stands with the shells.
"""

from __future__ import annotations

import re

from rolecall.model.access import Credentials, Person, Scope, Session
from rolecall.model.deeds import Deed
from rolecall.model.errors import ConfigError, DuplicatePerson, NotAuthenticated, PersonNotFound, TooManyRequests
from rolecall.service.database import Database
from rolecall.service.names import require_name
from rolecall.service.secrets import digest_of, new_secret
from rolecall.sql import access

__all__ = ["WRONG_LOGIN", "People"]

MOST_FAILURES = 10
LOCKOUT = 900.0
# No brackets, so that nobody can look like an API key in the audit log.
PERSON = re.compile(r"[\w.@+-]+( [\w.@+-]+)*")
TAKEN = frozenset({"local", "nobody"})
WRONG_LOGIN = "the name or the password is wrong"


class People:
    """Who logs in by name and password."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, name: str, scope: Scope, password_hash: str) -> Person:
        """Let a person log in from now on. Raises ConfigError, DuplicatePerson."""
        require_name(name)
        if not PERSON.fullmatch(name):
            problem = "a person's name holds letters, digits, _ . @ + - and single spaces"
            raise ConfigError(problem, variable="name", value=name)
        if name in TAKEN:
            raise ConfigError(f"{name!r} stands for somebody else in the audit log", variable="name", value=name)
        deed = Deed("people.add", {"name": name, "scope": scope})
        if await self._database.act(deed, access.add_person(name, scope, password_hash)) is None:
            raise DuplicatePerson(f"{name!r} may log in already")
        return await self.get(name)

    async def list(self) -> list[Person]:
        """Everybody by name."""
        return await self._database.run(access.people())

    async def get(self, name: str) -> Person:
        """One person. Raises PersonNotFound."""
        for person in await self.list():
            if person.name == name:
                return person
        raise PersonNotFound(f"there is no {name!r} who may log in")

    async def remove(self, name: str) -> None:
        """Forget a person, and end their sessions. Raises PersonNotFound."""
        if not await self._database.act(Deed("people.remove", {"name": name}), access.remove_person(name)):
            raise PersonNotFound(f"there is no {name!r} who may log in")

    async def set_password(self, name: str, password_hash: str) -> None:
        """Change a password, and end the sessions. Raises PersonNotFound."""
        deed = Deed("people.password", {"name": name})
        if not await self._database.act(deed, access.set_password(name, password_hash)):
            raise PersonNotFound(f"there is no {name!r} who may log in")

    async def begin_login(self, name: str) -> Credentials | None:
        """Count an attempt, and return what the password is compared with; None for an unknown name.

        Raises TooManyRequests after ten failures in a row, for 900 s, whether anybody bears the name or not.
        """
        wait = await self._database.run(access.begin_login(digest_of(name), MOST_FAILURES, LOCKOUT))
        if wait is not None:
            raise TooManyRequests("too many failed logins with this name", retry_after=wait)
        return await self._database.run(access.credentials(name))

    async def open_session(self, name: str, who: Credentials, *, seconds: float, origin: str | None) -> Session:
        """Let a person in whose password was right. Raises NotAuthenticated if it was changed meanwhile."""
        secret = new_secret("rs")
        opening = access.open_session(who, digest_of(secret), digest_of(name), seconds=seconds, origin=origin)
        expires_at = await self._database.act(Deed("sessions.open"), opening)
        if expires_at is None:
            raise NotAuthenticated(WRONG_LOGIN)
        return Session(secret=secret, expires_at=expires_at)

    async def find(self, secret: str) -> Person | None:
        """Return whose session this is; None for one that has ended."""
        return await self._database.run(access.session(digest_of(secret)))

    async def close_session(self, secret: str) -> None:
        """End a session; one that has ended already is fine."""
        await self._database.act(Deed("sessions.close"), access.close_session(digest_of(secret)))
