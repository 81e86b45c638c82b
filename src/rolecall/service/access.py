"""API keys, people who log in, and the local token of this machine."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
from pathlib import Path
from secrets import token_hex

from rolecall.config import AuthMode
from rolecall.config.access import TOKEN_FILE
from rolecall.model.audit import AuditEvent
from rolecall.model.errors import (
    ApiKeyNotFound,
    ConfigError,
    DuplicatePerson,
    PersonNotFound,
    TooManyRequests,
)
from rolecall.model.operator.access import ApiKey, Credentials, LoginAttempt, LoginLimits, NewApiKey, Person, Scope
from rolecall.service.arguments import require_between, require_name
from rolecall.service.database import Database
from rolecall.sql import access

BYTES = 32
DAYS = 30
MOST_DAYS = 121
PREFIX = 11
SECRET = re.compile(r"rk_[A-Za-z0-9_-]{32,128}")
LIMITS = LoginLimits()
# No brackets, so that no person can pose as an API key in the audit log.
PERSON = re.compile(r"[\w.@+-]+( [\w.@+-]+)*")
RESERVED_NAMES = frozenset({"local", "nobody"})
WRONG_LOGIN = "the name or the password is wrong"
TOKEN = re.compile(r"rl_[A-Za-z0-9_-]{43}")
OWNER_MODE = 0o600
OTHER_USERS_MODE = 0o077
TOKEN_VARIABLE = TOKEN_FILE.name


def new_secret(kind: str) -> str:
    """Return a secret that begins with its kind, so that scanners for leaked secrets recognize it: `rk_...`."""
    return f"{kind}_{secrets.token_urlsafe(BYTES)}"


def digest_of(text: str) -> bytes:
    """Return the digest under which a secret is stored. A fast hash suffices for 256 random bits; passwords need a
    slow one.
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


class Keys:
    """The API keys of programs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(
        self, name: str, scope: Scope, days: int | None = DAYS, *, person_id: int | None = None
    ) -> NewApiKey:
        """Create an API key, which never expires without `days`. Only this call returns its secret. Raises ConfigError.

        A person's key is deleted along with the person.
        """
        require_name(name)
        require_between("days", 1 if days is None else days, 1, MOST_DAYS)
        secret = new_secret("rk")
        given = (name, scope, secret[:PREFIX], digest_of(secret), days)
        key_id = await self._database.act(
            AuditEvent("keys.create", {"name": name, "scope": scope, "days": days}),
            access.create_api_key(*given)
            if person_id is None
            else access.create_own_api_key(*given, person_id=person_id),
        )
        return NewApiKey(key=await self.get(key_id), secret=secret)

    async def list(self) -> list[ApiKey]:
        """List all API keys, newest first, including those that expired or were revoked recently."""
        return await self._database.run(access.api_keys())

    async def get(self, key_id: int) -> ApiKey:
        """Return one API key. Raises ApiKeyNotFound."""
        for key in await self._database.run(access.api_key(key_id)):
            return key
        raise ApiKeyNotFound(f"there is no API key {key_id}")

    async def revoke(self, key_id: int) -> None:
        """Revoke a key. Raises ApiKeyNotFound for a key that is unknown, revoked or expired."""
        if not await self._database.act(AuditEvent("keys.revoke", {"id": key_id}), access.revoke_api_key(key_id)):
            raise ApiKeyNotFound(f"there is no valid API key {key_id} to revoke")

    async def find(self, secret: str) -> ApiKey | None:
        """Return the API key of a secret and record its use; None if there is no valid one."""
        if not SECRET.fullmatch(secret):
            return None
        found = await self._database.run(access.living_api_key(secret[:PREFIX]))
        if found is None or not hmac.compare_digest(found[0], digest_of(secret)):
            return None
        await self._database.run(access.touch_api_key(found[1].id))
        return found[1]


class People:
    """The people who log in by name and password."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, name: str, scope: Scope, password_hash: str) -> Person:
        """Add a person who can log in. Raises ConfigError, DuplicatePerson."""
        require_name(name)
        if not PERSON.fullmatch(name):
            problem = "must contain only letters, digits, _ . @ + - and single spaces"
            raise ConfigError(problem, variable="name", value=name)
        if name in RESERVED_NAMES:
            raise ConfigError(f"{name!r} is a reserved name in the audit log", variable="name", value=name)
        event = AuditEvent("people.add", {"name": name, "scope": scope})
        if await self._database.act(event, access.add_person(name, scope, password_hash)) is None:
            raise DuplicatePerson(f"a person named {name!r} exists already")
        return await self.get(name)

    async def list(self) -> list[Person]:
        """List all people, by name."""
        return await self._database.run(access.people())

    async def get(self, name: str) -> Person:
        """Return one person. Raises PersonNotFound."""
        for person in await self.list():
            if person.name == name:
                return person
        raise PersonNotFound(f"there is no {name!r} who may log in")

    async def remove(self, name: str) -> None:
        """Remove a person and end their sessions. Raises PersonNotFound."""
        if not await self._database.act(AuditEvent("people.remove", {"name": name}), access.remove_person(name)):
            raise PersonNotFound(f"there is no {name!r} who may log in")

    async def set_password(self, name: str, password_hash: str) -> None:
        """Change a password and end the person's sessions. Raises PersonNotFound."""
        event = AuditEvent("people.password", {"name": name})
        if not await self._database.act(event, access.set_password(name, password_hash)):
            raise PersonNotFound(f"there is no {name!r} who may log in")

    async def unlock(self, name: str) -> None:
        """Unlock a person after too many failed logins, on every network and browser. Raises PersonNotFound."""
        if not await self._database.act(AuditEvent("people.unlock", {"name": name}), access.unlock_person(name)):
            raise PersonNotFound(f"there is no {name!r} who may log in")

    async def begin_login(self, attempt: LoginAttempt, limits: LoginLimits = LIMITS) -> tuple[Credentials | None, bool]:
        """Count an attempt. Return the credentials to verify, None for an unknown name, and whether it is the last
        allowed failure.

        Raises TooManyRequests after `limits.failures` failures in a row from one network or one known browser, or
        `limits.failures_of_strangers` of all others together. Unknown names are counted alike.
        """
        counting = access.try_to_log_in(*login_digests(attempt), limits)
        wait, is_last = await self._database.run(counting)
        if wait is not None:
            raise TooManyRequests("too many failed logins with this name", retry_after=wait)
        return await self._database.run(access.credentials(attempt.name)), is_last


def login_digests(attempt: LoginAttempt) -> tuple[bytes, bytes, bytes | None]:
    """Return the digests of the name, of the name with the network, and of the browser's name."""
    browser = None if attempt.browser is None else digest_of(attempt.browser)
    # Names contain no line feed, so different pairs give different texts.
    return digest_of(attempt.name), digest_of(f"{attempt.name}\n{attempt.network}"), browser


def mode_for(mode: AuthMode | None, *, private: bool, as_root: bool) -> AuthMode:
    """Return how callers authenticate, at an address that only this machine can reach (`private`) or at another one.

    Raises ConfigError for `off` or `token` on a network, and for `off` as root: callers who can enqueue any task have
    the rights of its handlers.
    """
    if not private and mode is AuthMode.off:
        raise _refused_mode(
            mode, "off would admit all clients that can reach this address; it is for 127.0.0.1 and ::1 only"
        )
    if not private and mode is AuthMode.token:
        raise _refused_mode(mode, "the token is for 127.0.0.1 and ::1 only: elsewhere, use API keys or logins")
    if as_root and mode is AuthMode.off:
        raise _refused_mode(
            mode, "off would give every account of this machine the rights of root: serve as another user"
        )
    return mode or (AuthMode.token if private else AuthMode.keys)


class StartupGuard:
    """Checks access before the API is served on a network."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def require_credentials(self) -> None:
        """Raise ConfigError if there is neither a valid API key nor a person."""
        if not await self._database.run(access.has_credentials()):
            raise ConfigError(
                "other machines can reach this address, but there is no API key yet: create one with "
                "`rolecall keys create NAME --scope admin`, or add a person with `rolecall people add NAME`",
                variable="ROLECALL_HTTP",
            )


def _refused_mode(mode: AuthMode, problem: str) -> ConfigError:
    return ConfigError(problem, variable="ROLECALL_AUTH", value=mode)


def ensure_token(file: Path) -> str:
    """Return the token in this file, after creating it if necessary, readable only by its owner.

    Raises ConfigError if it cannot be stored, or if others can read or write the file.
    """
    try:
        file = file.expanduser()
        if not file.exists():
            _make(file)
        return _read(file)
    except (OSError, RuntimeError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        raise _refused_file(file, f"this machine's token cannot be stored in {str(file)!r}: {problem}") from None


def _make(file: Path) -> None:
    """Write the file completely before linking its name. If two servers start at once, both use the same token."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}-{token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, OWNER_MODE)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as text:
            text.write(new_secret("rl") + "\n")
        os.link(draft, file)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def _read(file: Path) -> str:
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, encoding="ascii", errors="replace") as text:
        status = os.fstat(text.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & OTHER_USERS_MODE:
            raise _refused_file(file, f"other users can read or write {str(file)!r}: delete it")
        token = text.readline().strip()
    if not TOKEN.fullmatch(token):
        raise _refused_file(file, f"{str(file)!r} contains no token: delete it")
    return token


def _refused_file(file: Path, problem: str) -> ConfigError:
    advice = "set ROLECALL_TOKEN_FILE to another file, or use --auth keys"
    return ConfigError(f"{problem}; {advice}", variable=TOKEN_VARIABLE, value=str(file))
