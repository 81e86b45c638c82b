"""How a program puts work into the pool and asks what became of it: one client, two faces."""

from __future__ import annotations

from rolecall.client.async_client import AsyncClient
from rolecall.client.sync_client import Client

__all__ = ["AsyncClient", "Client"]
