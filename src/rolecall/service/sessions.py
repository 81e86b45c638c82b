"""Sessions of people, opened with a password, and of this machine's browsers, opened with the local token."""

from __future__ import annotations

from rolecall.model.audit import AuditEvent
from rolecall.model.errors import NotAuthenticated, SessionNotFound
from rolecall.model.operator.access import Credentials, LiveSession, LoginAttempt, OpenSession, Session
from rolecall.service.access import WRONG_LOGIN, digest_of, login_digests, new_secret
from rolecall.service.database import Database
from rolecall.sql import access, sessions


class Sessions:
    """The sessions of browsers and programs. Each is a row, which ends by time, idleness or request."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self, attempt: LoginAttempt, who: Credentials, *, seconds: float, origin: str | None) -> Session:
        """Open a session after the password was verified, and reset the count of failed attempts.

        Raises NotAuthenticated if the password has changed meanwhile.
        """
        secret, browser = new_secret("rs"), new_secret("rb")
        digests = login_digests(attempt)
        opening = sessions.open_session(who, digest_of(secret), digests[0], seconds=seconds, origin=origin)
        expires_at = await self._database.act(AuditEvent("sessions.open"), opening)
        if expires_at is None:
            raise NotAuthenticated(WRONG_LOGIN)
        is_new = await self._database.run(access.welcome_browser(who.person_id, *digests, digest_of(browser)))
        return Session(secret=secret, expires_at=expires_at, browser=browser if is_new else None)

    async def open_local(self, secret: str, digest: bytes, *, seconds: float, origin: str | None) -> Session:
        """Open a session of the local token. Its secret is stored as this digest."""
        opening = sessions.open_local_session(digest, seconds=seconds, origin=origin)
        return Session(secret=secret, expires_at=await self._database.act(AuditEvent("sessions.open"), opening))

    async def find(self, digest: bytes, *, idle: float) -> LiveSession | None:
        """Find a session by the digest of its secret and record its use; None if it has ended or is unknown.

        A session ends after `idle` seconds without a request.
        """
        found = await self._database.run(sessions.find_session(digest, idle))
        if found is None:
            return None
        session, is_stale = found
        if is_stale:
            await self._database.run(sessions.touch_session(digest))
        return session

    async def list(self, *, idle: float, person_id: int | None = None) -> list[OpenSession]:
        """List the open sessions of all people or of one person, newest first."""
        return await self._database.run(sessions.sessions(person_id, idle))

    async def close(self, digest: bytes) -> None:
        """End a session at its owner's request. Does nothing if it has ended already."""
        await self._database.act(AuditEvent("sessions.close"), sessions.close_session(digest))

    async def end(self, session_id: str, *, person_id: int | None = None) -> None:
        """End a session by its id, optionally only if it belongs to a person. Raises SessionNotFound."""
        event = AuditEvent("sessions.end", {"id": session_id})
        if not await self._database.act(event, sessions.end_session(session_id, person_id)):
            raise SessionNotFound(f"there is no open session {session_id!r} that you can end")
