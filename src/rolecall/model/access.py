"""Who may do what, and what is kept for those who come in: keys, sessions, answers, secrets."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from rolecall.model.audit import Actor

__all__ = [
    "ApiKey",
    "Caller",
    "Credentials",
    "KeptAnswer",
    "LiveSession",
    "LoginAttempt",
    "LoginLimits",
    "NewApiKey",
    "OpenSession",
    "Person",
    "RequestKey",
    "Scope",
    "Secret",
    "Session",
]


class Scope(StrEnum):
    """The rights of a caller.

    `own` allows its own tasks at the own-tasks routes, `read` all requests that change nothing, `operate` both and
    changes to tasks and workers, `admin` everything. `own` and `read` do not include each other: a reader enqueues
    nothing, and an owner sees no task of another owner.
    """

    OWN = "own"
    READ = "read"
    OPERATE = "operate"
    ADMIN = "admin"

    def includes(self, asked: Scope) -> bool:
        """Return True if this scope has all rights of `asked`."""
        if asked is Scope.OWN and self is Scope.READ:
            return False
        ranks = list(Scope)
        return ranks.index(self) >= ranks.index(asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The sender of a request, with its rights; `is_local` means that the local token or `--auth off` let it in.

    `person_id` is the person who has logged in, or to whom the API key belongs, `key_id` the key that was shown, and
    `session` the digest of the session's secret.
    """

    actor: Actor
    scope: Scope
    is_local: bool = False
    person_id: int | None = None
    key_id: int | None = None
    session: bytes | None = None

    @property
    def counted_as(self) -> str | None:
        """By which name it is counted what one caller has or does; None for whom it is not."""
        return None if self.is_local else self.actor.name

    @property
    def owner(self) -> str:
        """Whose the things are that this caller makes: a person's, whichever of her keys she shows, or a key's own.

        By numbers: who is given the name of somebody who left has nothing of his.
        """
        if self.person_id is not None:
            return f"person:{self.person_id}"
        return "local" if self.key_id is None else f"key:{self.key_id}"


@dataclass(frozen=True, slots=True)
class ApiKey:
    """What is stored of an API key, all but the digest; the fields stand in the order of the table's columns.

    Without `expires_at` it lives for ever. `prefix` is how its secret begins. With `person_id` it is a person's own.
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
    """An API key with its secret, which nobody can read again."""

    key: ApiKey
    secret: str


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who may log in."""

    id: int
    name: str
    scope: Scope
    created_at: datetime
    last_login_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginLimits:
    """After how many failures in a row, from one network or browser, and from all strangers together, nobody of them
    may try again for `lockout` seconds.
    """

    failures: int = 10
    failures_of_strangers: int = 100
    lockout: float = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginAttempt:
    """Somebody who tries to log in: with which name, from which network, and with what his browser shows that it is
    known by, if it does.
    """

    name: str
    network: str
    browser: str | None = None


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a person's password is compared with."""

    person_id: int
    password_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A new session with its secret, which is stored nowhere.

    `browser` is the name by which the browser is known from now on; None if it keeps the one it has.
    """

    secret: str
    expires_at: datetime
    browser: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSession:
    """The session that a request shows, by the digest of its secret; without a person it belongs to the local token."""

    digest: bytes
    person: Person | None


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session that has not ended, without its secret. `person` is None for the local token of a machine."""

    id: str
    person: str | None
    scope: Scope
    origin: str | None
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime


class Secret:
    """Holds a text and does not show it by accident: neither its str nor its repr tells it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return "(secret)"

    def reveal(self) -> str:
        """The text itself."""
        return self._text


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestKey:
    """Who sends it, under which key, and a digest of all that it says."""

    caller: str
    key: str
    digest: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswer:
    """What it was answered; `body` is JSON text."""

    status: int
    location: str | None
    body: str
