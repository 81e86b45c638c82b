"""Ends the pauses of roles whose time is up, and warns of each that it is over."""

from __future__ import annotations

import logging

from rolecall.maintenance.duties import Runs
from rolecall.sql import roles

log = logging.getLogger("rolecall.maintenance")


async def run_once(session: Runs) -> str | None:
    """Warn instead of returning a line: who paused a role should know that it works again."""
    for pause in await session.run(roles.end_pauses()):
        by = f" by {pause.paused_by}" if pause.paused_by else ""
        log.warning("Role %s goes on after its pause of %g s%s", pause.role, pause.seconds, by)
    return None
