"""What an operator may do with API keys, and whose one is."""

from __future__ import annotations

import hmac
import re

from rolecall.model.access import ApiKey, NewApiKey, Scope
from rolecall.model.audit import AuditEvent
from rolecall.model.errors import ApiKeyNotFound, ConfigError
from rolecall.service.database import Database
from rolecall.service.names import require_name
from rolecall.service.secrets import digest_of, new_secret
from rolecall.sql import access

__all__ = ["DAYS", "Keys"]

DAYS = 30
MOST_DAYS = 121
PREFIX = 11
SECRET = re.compile(r"rk_[A-Za-z0-9_-]{32,128}")


class Keys:
    """The keys with which programs come in over HTTP."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, name: str, scope: Scope, days: int | None = DAYS) -> NewApiKey:
        """Make an API key, for ever without days; its secret is told here and never again. Raises ConfigError."""
        require_name(name)
        if days is not None and not 1 <= days <= MOST_DAYS:
            raise ConfigError(f"{days} is not between 1 and {MOST_DAYS}", variable="days", value=days)
        secret = new_secret("rk")
        key_id = await self._database.act(
            AuditEvent("keys.create", {"name": name, "scope": scope, "days": days}),
            access.create_api_key(name, scope, secret[:PREFIX], digest_of(secret), days),
        )
        return NewApiKey(key=await self.get(key_id), secret=secret)

    async def list(self) -> list[ApiKey]:
        """All API keys, the newest first, with those that were revoked or have expired lately."""
        return await self._database.run(access.api_keys())

    async def get(self, key_id: int) -> ApiKey:
        """One API key. Raises ApiKeyNotFound."""
        for key in await self._database.run(access.api_key(key_id)):
            return key
        raise ApiKeyNotFound(f"there is no API key {key_id}")

    async def revoke(self, key_id: int) -> None:
        """Let it open nothing from now on. Raises ApiKeyNotFound for one that does not, or is unknown."""
        if not await self._database.act(AuditEvent("keys.revoke", {"id": key_id}), access.revoke_api_key(key_id)):
            raise ApiKeyNotFound(f"there is no API key {key_id} that could be revoked")

    async def find(self, secret: str) -> ApiKey | None:
        """Return whose secret this is, and note that it is in use; None for what opens nothing."""
        if not SECRET.fullmatch(secret):
            return None
        found = await self._database.run(access.living_api_key(secret[:PREFIX]))
        if found is None or not hmac.compare_digest(found[0], digest_of(secret)):
            return None
        await self._database.run(access.touch_api_key(found[1].id))
        return found[1]
