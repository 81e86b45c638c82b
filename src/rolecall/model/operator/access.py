"""Access control: scopes, callers, API keys, persons, sessions and request keys."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from rolecall.model.audit import Actor


class Scope(StrEnum):
    """The rights of a caller.

    `own` allows access to the caller's own tasks through the own-tasks routes, `read` every request that changes
    nothing, `operate` both of these and changes to tasks and workers, and `admin` everything. `own` and `read` do not
    include each other: a reader cannot enqueue tasks, and an owner cannot see the tasks of other owners.
    """

    OWN = "own"
    READ = "read"
    OPERATE = "operate"
    ADMIN = "admin"

    def includes(self, required: Scope) -> bool:
        """Return whether this scope has all rights of `required`."""
        if required is Scope.OWN and self is Scope.READ:
            return False
        ranks = list(Scope)
        return ranks.index(self) >= ranks.index(required)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The sender of a request, with its rights.

    `is_local` is true if the request was admitted by the local token or by `--auth off`. `person_id` is the person
    who logged in or who owns the API key, `key_id` the API key of the request, and `session` the digest of the
    session's secret.
    """

    actor: Actor
    scope: Scope
    is_local: bool = False
    person_id: int | None = None
    key_id: int | None = None
    session: bytes | None = None

    @property
    def limited_as(self) -> str | None:
        """The name under which this caller's usage is limited; None if it is not limited."""
        return None if self.is_local else self.actor.name

    @property
    def owner(self) -> str:
        """The owner of the tasks that this caller creates: the person, or the API key if it has no owner.

        Owners are identified by number, so that tasks are not passed on to a later person or key with the same name.
        """
        if self.person_id is not None:
            return f"person:{self.person_id}"
        return "local" if self.key_id is None else f"key:{self.key_id}"


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A stored API key without its digest; the fields are in the order of the table's columns.

    Without `expires_at` it never expires. `prefix` is the beginning of its secret. `person_id` is the person it
    belongs to, if any.
    """

    id: int
    name: str
    scope: Scope
    prefix: str
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    person_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewApiKey:
    """A new API key with its secret, which cannot be read again later."""

    key: ApiKey
    secret: str


@dataclass(frozen=True, slots=True)
class Person:
    """A person who may log in."""

    id: int
    name: str
    scope: Scope
    created_at: datetime
    last_login_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginLimits:
    """How many failed logins in a row block further attempts for `lockout` seconds.

    `failures` applies to each network and each known browser, `failures_of_strangers` to all unknown browsers
    together.
    """

    failures: int = 10
    failures_of_strangers: int = 100
    lockout: float = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginAttempt:
    """A login attempt: the name, the network of the sender, and the secret of a known browser, if it sent one."""

    name: str
    network: str
    browser: str | None = None


@dataclass(frozen=True, slots=True)
class Credentials:
    """The stored password hash of a person."""

    person_id: int
    password_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A new session with its secret, which is not stored.

    `browser` is the new secret by which the browser will be recognized; None if it keeps its present one.
    """

    secret: str
    expires_at: datetime
    browser: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSession:
    """The session of a request, by the digest of its secret. Without a person it belongs to the local token."""

    digest: bytes
    person: Person | None


@dataclass(frozen=True, slots=True)
class OpenSession:
    """An open session without its secret. `person` is None for the local token of a machine."""

    id: str
    person: str | None
    scope: Scope
    origin: str | None
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime


class Secret:
    """A text that neither `str` nor `repr` reveals, so that it is not shown by accident."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return "(secret)"

    def reveal(self) -> str:
        return self._text


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestKey:
    """The key of a request, its caller, and a digest of its content."""

    caller: str
    key: str
    digest: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResponse:
    """The stored response to a request with a key; `body` is JSON text."""

    status: int
    location: str | None
    body: str
