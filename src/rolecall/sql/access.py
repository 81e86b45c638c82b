"""Typed calls for API keys, persons, logins and requests with a key."""

# ruff: noqa: S608 - only this module's own constants are built into a query
from __future__ import annotations

from rolecall.model.operator.access import ApiKey, Credentials, LoginLimits, Person, RequestKey, Scope, StoredResponse
from rolecall.sql.statement import Row, Statement, ignore_rows, single

KEY_COLUMNS = ", ".join(ApiKey.__slots__)
PERSON_COLUMNS = ", ".join(Person.__slots__)
NEW_KEY = "%s::text, %s::rolecall.scope, %s::text, %s::bytea, make_interval(days => %s::int)"
LIVING = "revoked_at is null and (expires_at is null or expires_at > rolecall.clock())"


def create_api_key(name: str, scope: Scope, prefix: str, digest: bytes, days: int | None) -> Statement[int]:
    """Store an API key; without `days` it never expires."""
    return Statement(
        query=f"select rolecall.create_api_key({NEW_KEY})", params=(name, scope, prefix, digest, days), read=single
    )


def create_own_api_key(
    name: str, scope: Scope, prefix: str, digest: bytes, days: int | None, *, person_id: int
) -> Statement[int]:
    """Store an API key that belongs to a person."""
    return Statement(
        query=f"select rolecall.create_own_api_key({NEW_KEY}, %s::bigint)",
        params=(name, scope, prefix, digest, days, person_id),
        read=single,
    )


def api_keys() -> Statement[list[ApiKey]]:
    """List the API keys, newest first."""
    return Statement(query=f"select {KEY_COLUMNS} from rolecall.api_keys order by id desc", read=_read_keys)


def api_key(key_id: int) -> Statement[list[ApiKey]]:
    """Find one API key, even if it is revoked or expired."""
    query = f"select {KEY_COLUMNS} from rolecall.api_keys where id = %s::bigint"
    return Statement(query=query, params=(key_id,), read=_read_keys)


def endless_admin_keys() -> Statement[list[ApiKey]]:
    """List the API keys with the scope admin that never expire."""
    query = (
        f"select {KEY_COLUMNS} from rolecall.api_keys"
        " where scope = 'admin' and expires_at is null and revoked_at is null order by id"
    )
    return Statement(query=query, read=_read_keys)


def living_api_key(prefix: str) -> Statement[tuple[bytes, ApiKey] | None]:
    """Find the valid API key whose secret has this prefix, with its digest."""
    query = f"select digest, {KEY_COLUMNS} from rolecall.api_keys where prefix = %s::text and {LIVING}"
    return Statement(query=query, params=(prefix,), read=_read_living)


def touch_api_key(key_id: int) -> Statement[None]:
    """Record that an API key is in use, at most once a minute."""
    return Statement(query="select rolecall.touch_api_key(%s::bigint)", params=(key_id,), read=ignore_rows)


def revoke_api_key(key_id: int) -> Statement[bool]:
    """Revoke an API key; returns False if there was nothing to revoke."""
    return Statement(query="select rolecall.revoke_api_key(%s::bigint)", params=(key_id,), read=single)


def has_credentials() -> Statement[bool]:
    """Return whether there is any valid API key or person."""
    query = f"select exists(select from rolecall.api_keys where {LIVING}) or exists(select from rolecall.people)"
    return Statement(query=query, read=single)


def add_person(name: str, scope: Scope, password_hash: str) -> Statement[int | None]:
    """Add a person who may log in; returns None if the name is taken."""
    return Statement(
        query="select rolecall.add_person(%s::text, %s::rolecall.scope, %s::text)",
        params=(name, scope, password_hash),
        read=single,
    )


def people() -> Statement[list[Person]]:
    """List the persons by name."""
    return Statement(
        query=f"select {PERSON_COLUMNS} from rolecall.people order by name",
        read=lambda rows: list(map(read_person, rows)),
    )


def remove_person(name: str) -> Statement[bool]:
    """Remove a person; returns False if no person has this name."""
    return Statement(query="select rolecall.remove_person(%s::text)", params=(name,), read=single)


def set_password(name: str, password_hash: str) -> Statement[bool]:
    """Change a person's password and end the sessions; returns False if no person has this name."""
    query = "select rolecall.set_password(%s::text, %s::text)"
    return Statement(query=query, params=(name, password_hash), read=single)


def try_to_log_in(
    name: bytes, network: bytes, browser: bytes | None, limits: LoginLimits
) -> Statement[tuple[float | None, bool]]:
    """Count a login attempt. Returns the seconds that it must wait (or None), and whether it is the last one allowed.

    `network` is the digest of the name and the network of the attempt.
    """
    return Statement(
        query="select wait, is_last from rolecall.try_to_log_in("
        "%s::bytea, %s::bytea, %s::bytea, %s::int, %s::int, make_interval(secs => %s::float8))",
        params=(name, network, browser, limits.failures, limits.failures_of_strangers, limits.lockout),
        read=lambda rows: (rows[0][0], rows[0][1]),
    )


def welcome_browser(person_id: int, name: bytes, network: bytes, browser: bytes | None, new: bytes) -> Statement[bool]:
    """Clear the failures after a successful login; returns True if the browser is now known by the digest `new`."""
    return Statement(
        query="select rolecall.welcome_browser(%s::bigint, %s::bytea, %s::bytea, %s::bytea, %s::bytea)",
        params=(person_id, name, network, browser, new),
        read=single,
    )


def unlock_person(name: str) -> Statement[bool]:
    """Clear the failed logins with this name; returns False if no person has it."""
    return Statement(query="select rolecall.unlock_person(%s::text)", params=(name,), read=single)


def credentials(name: str) -> Statement[Credentials | None]:
    """Find the password hash of a person."""
    return Statement(
        query="select id, password_hash from rolecall.people where name = %s::text",
        params=(name,),
        read=lambda rows: Credentials(*rows[0]) if rows else None,
    )


def _read_keys(rows: list[Row]) -> list[ApiKey]:
    return [ApiKey(key_id, name, Scope(scope), *rest) for key_id, name, scope, *rest in rows]


def _read_living(rows: list[Row]) -> tuple[bytes, ApiKey] | None:
    return next(((digest, *_read_keys([tuple(key)])) for digest, *key in rows), None)


def read_person(row: Row) -> Person:
    """Read the columns of a person, in the order of the fields."""
    person_id, name, scope, *rest = row
    return Person(person_id, name, Scope(scope), *rest)


def take_request(request: RequestKey) -> Statement[StoredResponse | None]:
    """Start a request; returns its stored response, or None if it must be carried out.

    Raises RequestUnderWay and RequestKeyReused.
    """
    return Statement(
        query="select status, location, body from rolecall.take_request(%s::text, %s::text, %s::bytea)",
        params=(request.caller, request.key, request.digest),
        read=_read_kept,
    )


def keep_answer(request: RequestKey, answer: StoredResponse) -> Statement[None]:
    """Store the response, in the transaction in which the request was started and carried out."""
    return Statement(
        query="select rolecall.keep_answer(%s::text, %s::text, %s::bytea, %s::int, %s::text, %s::text)",
        params=(request.caller, request.key, request.digest, answer.status, answer.location, answer.body),
        read=ignore_rows,
    )


def _read_kept(rows: list[Row]) -> StoredResponse | None:
    for status, location, body in rows:
        return StoredResponse(status=status, location=location, body=body)
    return None
