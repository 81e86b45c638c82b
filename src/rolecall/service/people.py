"""What an operator may do with the people who log in; and their sessions.

Passwords come here as hashes only: what makes and compares them stands with the shells.
"""

from __future__ import annotations

import re

from rolecall.model.access import Credentials, LoginAttempt, LoginLimits, Person, Scope, Session
from rolecall.model.audit import AuditEvent
from rolecall.model.errors import ConfigError, DuplicatePerson, NotAuthenticated, PersonNotFound, TooManyRequests
from rolecall.service.database import Database
from rolecall.service.names import require_name
from rolecall.service.secrets import digest_of, new_secret
from rolecall.sql import access

__all__ = ["WRONG_LOGIN", "People"]

LIMITS = LoginLimits()
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
        event = AuditEvent("people.add", {"name": name, "scope": scope})
        if await self._database.act(event, access.add_person(name, scope, password_hash)) is None:
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
        if not await self._database.act(AuditEvent("people.remove", {"name": name}), access.remove_person(name)):
            raise PersonNotFound(f"there is no {name!r} who may log in")

    async def set_password(self, name: str, password_hash: str) -> None:
        """Change a password, and end the sessions. Raises PersonNotFound."""
        event = AuditEvent("people.password", {"name": name})
        if not await self._database.act(event, access.set_password(name, password_hash)):
            raise PersonNotFound(f"there is no {name!r} who may log in")

    async def unlock(self, name: str) -> None:
        """Let a person try to log in again after too many failures, from wherever. Raises PersonNotFound."""
        if not await self._database.act(AuditEvent("people.unlock", {"name": name}), access.unlock_person(name)):
            raise PersonNotFound(f"there is no {name!r} who may log in")

    async def begin_login(self, attempt: LoginAttempt) -> tuple[Credentials | None, bool]:
        """Count an attempt, and return what the password is compared with, None for an unknown name; and whether it is
        the last one that may fail.

        Raises TooManyRequests after ten failures in a row from one network, or from one browser that is known, or a
        hundred of all others together: for 900 s, whether anybody bears the name or not.
        """
        counting = access.try_to_log_in(*_digests(attempt), LIMITS)
        wait, is_last = await self._database.run(counting)
        if wait is not None:
            raise TooManyRequests("too many failed logins with this name", retry_after=wait)
        return await self._database.run(access.credentials(attempt.name)), is_last

    async def open_session(
        self, attempt: LoginAttempt, who: Credentials, *, seconds: float, origin: str | None
    ) -> Session:
        """Let a person in whose password was right. Raises NotAuthenticated if it was changed meanwhile."""
        secret, browser = new_secret("rs"), new_secret("rb")
        digests = _digests(attempt)
        opening = access.open_session(who, digest_of(secret), digests[0], seconds=seconds, origin=origin)
        expires_at = await self._database.act(AuditEvent("sessions.open"), opening)
        if expires_at is None:
            raise NotAuthenticated(WRONG_LOGIN)
        is_new = await self._database.run(access.welcome_browser(who.person_id, *digests, digest_of(browser)))
        return Session(secret=secret, expires_at=expires_at, browser=browser if is_new else None)

    async def find(self, secret: str, *, idle: float) -> Person | None:
        """Return whose session this is; None for one that has ended, or was idle for so many seconds."""
        found = await self._database.run(access.session(digest_of(secret), idle))
        if found is None:
            return None
        person, is_stale = found
        if is_stale:
            await self._database.run(access.touch_session(digest_of(secret)))
        return person

    async def close_session(self, secret: str) -> None:
        """End a session; one that has ended already is fine."""
        await self._database.act(AuditEvent("sessions.close"), access.close_session(digest_of(secret)))


def _digests(attempt: LoginAttempt) -> tuple[bytes, bytes, bytes | None]:
    """Of the name, of the name together with the network, and of what the browser is known by."""
    browser = None if attempt.browser is None else digest_of(attempt.browser)
    # No name holds a line's end: no two pairs are one text.
    return digest_of(attempt.name), digest_of(f"{attempt.name}\n{attempt.network}"), browser
