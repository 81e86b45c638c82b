"""The metrics endpoint for Prometheus: metrics of this process and of the pool."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import Header, Request, Response

from rolecall.model.errors import ConfigError
from rolecall.web.dependencies import Reads
from rolecall.web.http.problems import RequestRefused
from rolecall.web.routers import api_router
from rolecall.web.state import state_of

router = api_router(tags=["health"])


@router.get("/metrics", response_class=Response)
async def scrape(request: Request, _services: Reads, accept: Annotated[str, Header()] = "") -> Response:
    """Return metrics in the format of Prometheus. Those of the pool are at most 15 s old, and missing until first
    read.
    """
    try:
        from rolecall.telemetry.pool_metrics import PoolMetrics  # noqa: PLC0415 - it needs the extra
        from rolecall.telemetry.prometheus import collectors_of, exposition  # noqa: PLC0415 - it needs the extra
    except ConfigError as error:
        raise RequestRefused(error.problem, status=503, kind="extra-missing") from None

    state = state_of(request)
    duties = await state.duties.peek() or ()
    pool = PoolMetrics(await state.gauges.peek() or (), datetime.now(UTC), duties, await state.overview.problems.peek())
    body, content_type = exposition([*collectors_of(state.app), pool], accept)
    return Response(body, media_type=content_type)
