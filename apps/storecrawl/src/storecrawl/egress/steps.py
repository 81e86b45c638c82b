"""How far a request has come, as the HTTP library tells it: to the proxy, into the tunnel."""

from __future__ import annotations

from typing import Any

TUNNEL_STANDS = "proxy.start_tls.started"
SOCKS_REACHED, SOCKS_REFUSED = "socks.connect_tcp.complete", "socks.setup_socks5_connection.failed"


class Steps:
    """Hears of the steps of one request."""

    def __init__(self) -> None:
        self.is_in_tunnel = False
        self._socks: Any = None
        self._is_refused = False

    async def __call__(self, step: str, details: dict[str, Any]) -> None:
        """Take note of a step."""
        if step == TUNNEL_STANDS:
            self.is_in_tunnel = True
        elif step == SOCKS_REACHED:
            self._socks = details["return_value"]
        elif step == SOCKS_REFUSED:
            self._is_refused = True

    async def clean_up(self) -> None:
        """Close the connection to a SOCKS proxy that let nobody through: the HTTP library leaves it open."""
        if self._is_refused:
            await self._socks.aclose()
