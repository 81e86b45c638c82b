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
    "LoginAttempt",
    "LoginLimits",
    "NewApiKey",
    "Person",
    "RequestKey",
    "Scope",
    "Secret",
    "Session",
]


class Scope(StrEnum):
    """What a caller may do: look, deal with tasks and workers, or change how the pool itself works."""

    READ = "read"
    OPERATE = "operate"
    ADMIN = "admin"

    def includes(self, asked: Scope) -> bool:
        """True if who has this scope may do what `asked` is needed for."""
        ranks = list(Scope)
        return ranks.index(self) >= ranks.index(asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who sent a request, and what they may do; `is_local` is whoever this machine's own door lets in.

    `person_id` is the person who came in, or whose API key it is, `key_id` the key that was shown.
    """

    actor: Actor
    scope: Scope
    is_local: bool = False
    person_id: int | None = None
    key_id: int | None = None

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
    """A login that stands, with its secret, which nobody can read again.

    `browser` is what the browser is known by from now on; None where it keeps what it has.
    """

    secret: str
    expires_at: datetime
    browser: str | None = None


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
