"""Typed calls for the sessions of persons and of the local token."""

# ruff: noqa: S608 - only this module's own constants are built into a query
from __future__ import annotations

from datetime import datetime

from rolecall.model.operator.access import Credentials, LiveSession, OpenSession, Person, Scope
from rolecall.sql.access import read_person
from rolecall.sql.statement import Row, Statement, ignore_rows, single

USED = "coalesce(session.last_used_at, session.created_at)"
# One parameter: the number of idle seconds after which a session has ended.
ALIVE = f"session.expires_at > rolecall.clock() and {USED} > rolecall.clock() - make_interval(secs => %s::float8)"
# 64 bits of the digest identify a session but do not help to guess its secret.
PUBLIC_ID = "left(encode(session.digest, 'hex'), 16)"
OF_PERSON = "(%s::bigint is null or session.person_id = %s::bigint)"


def open_session(
    who: Credentials, digest: bytes, name_digest: bytes, *, seconds: float, origin: str | None
) -> Statement[datetime | None]:
    """Open a session of a person; returns when it expires, or None if the password was changed meanwhile."""
    return Statement(
        query="select rolecall.open_session(%s::bigint, %s::text, %s::bytea, %s::bytea, "
        "make_interval(secs => %s::float8), %s::text)",
        params=(who.person_id, who.password_hash, digest, name_digest, seconds, origin),
        read=single,
    )


def open_local_session(digest: bytes, *, seconds: float, origin: str | None) -> Statement[datetime]:
    """Open a session of the local token; returns when it expires."""
    return Statement(
        query="select rolecall.open_local_session(%s::bytea, make_interval(secs => %s::float8), %s::text)",
        params=(digest, seconds, origin),
        read=single,
    )


def find_session(digest: bytes, idle: float) -> Statement[tuple[LiveSession, bool] | None]:
    """Find a session that is neither expired nor idle for `idle` seconds, and whether its use must be recorded
    again.
    """
    columns = ", ".join(f"person.{column}" for column in Person.__slots__)
    return Statement(
        query=f"select session.digest, {USED} < rolecall.clock() - interval '1 minute', {columns} "
        "from rolecall.sessions as session left join rolecall.people as person on person.id = session.person_id "
        f"where session.digest = %s::bytea and {ALIVE}",
        params=(digest, idle),
        read=_read_found,
    )


def sessions(person_id: int | None, idle: float) -> Statement[list[OpenSession]]:
    """List the open sessions of one person, or of all people, newest first."""
    return Statement(
        query=f"select {PUBLIC_ID}, person.name, coalesce(person.scope, 'admin'), session.origin, session.created_at, "
        "session.last_used_at, session.expires_at "
        "from rolecall.sessions as session left join rolecall.people as person on person.id = session.person_id "
        f"where {ALIVE} and {OF_PERSON} order by session.created_at desc, session.digest",
        params=(idle, person_id, person_id),
        read=lambda rows: list(map(_read_open, rows)),
    )


def touch_session(digest: bytes) -> Statement[None]:
    """Record that a session is in use."""
    return Statement(query="select rolecall.touch_session(%s::bytea)", params=(digest,), read=ignore_rows)


def close_session(digest: bytes) -> Statement[bool]:
    """End a session; returns whether it existed."""
    return Statement(query="select rolecall.close_session(%s::bytea)", params=(digest,), read=single)


def end_session(session_id: str, person_id: int | None) -> Statement[bool]:
    """End the session with this public id, of one person or of anybody; returns whether it existed."""
    return Statement(
        query="select rolecall.close_session(session.digest) from rolecall.sessions as session "
        f"where {PUBLIC_ID} = %s::text and {OF_PERSON}",
        params=(session_id, person_id, person_id),
        read=lambda rows: any(row[0] for row in rows),
    )


def _read_found(rows: list[Row]) -> tuple[LiveSession, bool] | None:
    for digest, is_stale, *person in rows:
        known = None if person[0] is None else read_person(tuple(person))
        return LiveSession(digest=bytes(digest), person=known), bool(is_stale)
    return None


def _read_open(row: Row) -> OpenSession:
    session_id, person, scope, *rest = row
    return OpenSession(session_id, person, Scope(scope), *rest)
