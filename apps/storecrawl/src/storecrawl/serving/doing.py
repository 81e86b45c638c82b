"""Who asks for a change, as Rolecall's server has found out."""

from __future__ import annotations

from rolecall.web import Administers
from storecrawl.deeds import Doer

__all__ = ["doer_of"]


def doer_of(services: Administers) -> Doer:
    """Whoever sent the request, and the shell that it came by."""
    actor = services.audit.actor
    return Doer(name=actor.name, via=actor.via, origin=actor.origin)
