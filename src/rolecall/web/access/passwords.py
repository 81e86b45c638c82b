"""Hashes and verifies passwords with argon2id. Each takes about 50 ms and 64 MiB."""

from __future__ import annotations

import asyncio

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from rolecall.model.errors import ConfigError

SHORTEST = 12
LONGEST = 1_000
AT_ONCE = 2
HASHER = PasswordHasher()
# The hash of an unknown password, so that verification takes as long for a name that does not exist.
NOBODYS = "$argon2id$v=19$m=65536,t=3,p=4$2ztM62bFxmL4v73wLGK2Dg$yFfp5Oi4FT0R9ZafSKbjVp6Z8a93MCa7oU3k1+UJ8eY"


def hash_password(password: str) -> str:
    """Return the hash of a password. Raises ConfigError for one that is too short or too long."""
    if not SHORTEST <= len(password) <= LONGEST:
        problem = f"must have {SHORTEST} to {LONGEST} characters"
        raise ConfigError(problem, variable="password", value="(hidden)")
    return HASHER.hash(password)


class Passwords:
    """Hashes and verifies passwords in threads, at most two at once, because each uses a CPU and much memory."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def hash(self, password: str) -> str:
        """Return the hash of a new password. Raises ConfigError (see `hash_password`)."""
        async with self._turns:
            return await asyncio.to_thread(hash_password, password)

    async def fits(self, password: str, password_hash: str | None) -> bool:
        """Return whether the password fits. Without a hash, return False after the same time."""
        async with self._turns:
            return await asyncio.to_thread(_fits, password, password_hash or NOBODYS) and password_hash is not None


def _fits(password: str, password_hash: str) -> bool:
    try:
        return HASHER.verify(password_hash, password)
    except (VerificationError, InvalidHashError, UnicodeEncodeError):
        return False
