"""Which persisted-query hash stands for an operation at the moment.

Hashes rotate. Those of the configuration are tried in their order, then that of our own text, then the
text itself is sent: an upstream that accepts texts knows its hash from then on. What answered last is tried first.
"""

from __future__ import annotations

from collections.abc import Mapping

from storecrawl.upstream.operations import OPERATIONS, Operation


class Hashes:
    """The hashes that may be known upstream, for each operation the likeliest first."""

    def __init__(self, configured: Mapping[str, tuple[str, ...]]) -> None:
        self._candidates = {
            operation.name: (*configured.get(operation.name, ()), operation.digest) for operation in OPERATIONS
        }

    def candidates(self, operation: Operation) -> tuple[str, ...]:
        """Return the hashes to try in turn."""
        return self._candidates[operation.name]

    def prefer(self, operation: Operation, digest: str) -> None:
        """Put the hash first that was just understood."""
        others = (other for other in self._candidates[operation.name] if other != digest)
        self._candidates[operation.name] = (digest, *others)
