"""How a platform is reached: its URL, its settings, and the egress."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from storecrawl.egress import Egress, Rates
from storecrawl.platforms.client import HttpClient
from storecrawl.platforms.options import HttpOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The way to one platform. `own` are the values of its own settings by name; no `rates` are those of the egress.

    The owner of the egress opens and closes it.
    """

    upstream: str
    egress: Egress
    http: HttpOptions = field(default_factory=HttpOptions)
    rates: Rates | None = None
    own: Mapping[str, Any] = field(default_factory=dict)

    def client(self, endpoint: str | None = None) -> HttpClient:
        """Return a client of the platform, or of another endpoint. Raises ForbiddenUrl."""
        return HttpClient(endpoint or self.upstream, options=self.http, egress=self.egress, rates=self.rates)
