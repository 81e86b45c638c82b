"""The local upstream: a real HTTP server that speaks the upstream's GraphQL over made-up stores and menus.

Stores and menus are drawn from distributions of real menus, by (seed, store, simulated step) and nothing
else; they change from step to step, and a dial makes requests fail in all the ways in which real ones fail.
"""

from __future__ import annotations

from storecrawl.demo.upstream.faults import FaultDial, FaultKind
from storecrawl.demo.upstream.local import LocalUpstream
from storecrawl.demo.upstream.options import UpstreamOptions

__all__ = ["FaultDial", "FaultKind", "LocalUpstream", "UpstreamOptions"]
