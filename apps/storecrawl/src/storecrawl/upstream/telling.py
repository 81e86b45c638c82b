"""Tells the egress what became of a request: whose fault a failure is, the route's, the profile's or the host's."""

from __future__ import annotations

from storecrawl.egress import Visit
from storecrawl.upstream.errors import (
    Blocked,
    ForeignRedirect,
    RateLimited,
    RouteFailed,
    Unavailable,
    Untrusted,
    UpstreamFailure,
)


async def tell(visit: Visit, failure: UpstreamFailure) -> None:
    """Have the visit draw the consequence of a failure; any other answer is the upstream's own, whoever asks."""
    match failure:
        case Blocked(status=403):
            await visit.forbidden(str(failure))
        case Blocked() | ForeignRedirect() | Untrusted():
            await visit.unwanted(str(failure))
        case RouteFailed():
            await visit.not_sent(str(failure))
        case RateLimited():
            await visit.limited(str(failure), failure.retry_after)
        case Unavailable():
            await visit.unanswered(str(failure), failure.retry_after)
        case _:
            visit.succeeded()
