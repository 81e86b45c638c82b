"""The local upstream: an HTTP server with the upstream's GraphQL API over generated stores and menus.

Stores and menus follow the distributions of real menus and depend only on seed, store and simulated step. They
change from step to step. A dial makes requests fail in all the ways in which real ones do.
"""

from __future__ import annotations

from storecrawl.demo.upstream.faults import FaultDial, FaultKind
from storecrawl.demo.upstream.local import LocalUpstream
from storecrawl.demo.upstream.options import UpstreamOptions

__all__ = ["FaultDial", "FaultKind", "LocalUpstream", "UpstreamOptions"]
