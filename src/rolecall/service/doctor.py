"""What an operator may ask about the pool's health: everything that is wrong with the server and the workers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from time import time

from rolecall.app.declarations import AppCheck
from rolecall.db.connect import AsyncConnection, connect_async
from rolecall.db.run import run_async, translated
from rolecall.model.doctor import Diagnosis, Finding, Limits, ServerFacts, Severity, StaleSlot, Verdict
from rolecall.model.errors import DatabaseError, DatabaseUnavailable
from rolecall.service import health_checks
from rolecall.service.database import Database
from rolecall.sql import access, doctor
from rolecall.wake.listener import probe_channel, send_probe

CHECKS = (
    "autovacuum",
    "clocks",
    "endless_keys",
    "expired_leases",
    "frozen_age",
    "fsync",
    "full_page_writes",
    "history",
    "isolation",
    "notification_queue",
    "notifications",
    "oldest_snapshot",
    "partitions",
    "prepared_transactions",
    "replication_slots",
    "retention",
    "search_path",
    "server_version",
    "stranded_work",
    "synchronous_commit",
    "table_care",
)
LISTENING = "notifications"
CHECK_SECONDS = 10.0
VERDICTS = {None: Verdict.FINE, Severity.WARNING: Verdict.WARNING, Severity.TROUBLE: Verdict.TROUBLE}
# A busy machine may take some seconds; only where nothing ever comes is it waited for so long.
ANSWER_WITHIN = 10.0


class Doctor:
    """Looks at everything at once, with what apps have it look at; changes nothing."""

    def __init__(
        self,
        database: Database,
        limits: Limits | None = None,
        listen_dsn: str | None = None,
        checks: Sequence[AppCheck] = (),
    ) -> None:
        self._database = database
        self._listen_dsn = listen_dsn
        self._limits = limits or Limits()
        self._checks = checks

    async def examine(self, *, listening: bool = True) -> Diagnosis:
        """Make every check, that of notifications (a connection of its own) if asked; the worst findings come first."""
        found = [finding async for findings in self._findings() for finding in findings]
        if listening:
            found += await self._listen()
        found += await self.ask_apps()
        found.sort(key=lambda finding: finding.severity is not Severity.TROUBLE)
        worst = found[0].severity if found else None
        own = CHECKS if listening else tuple(check for check in CHECKS if check != LISTENING)
        checks = (*own, *(check.name for check in self._checks))
        return Diagnosis(verdict=VERDICTS[worst], findings=found, checks=checks)

    async def ask_apps(self) -> list[Finding]:
        """Make the checks of apps alone."""
        return [finding for check in self._checks for finding in await self._made(check)]

    async def _made(self, check: AppCheck) -> list[Finding]:
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                found = await self._database.look(check.look)
        except Exception as error:  # noqa: BLE001 - whatever an app's check raises, the others are made
            found = [_not_made(error)]
        return [replace(finding, check=check.name, app=check.app) for finding in found]

    async def _findings(self) -> AsyncIterator[Iterable[Finding]]:
        ask, limits = self._database.run, self._limits
        server, here = await self._look_at_server()
        yield health_checks.settings(server, limits)
        yield health_checks.counters(server, limits)
        yield health_checks.snapshots(await ask(doctor.oldest_snapshot()), limits)
        yield health_checks.prepared(await ask(doctor.prepared_transactions()), limits)
        yield health_checks.slots(await self._slots(), limits)
        yield health_checks.tables(await ask(doctor.tables()))
        yield health_checks.clocks(await ask(doctor.clocks()), here, limits)
        yield health_checks.stranded(await ask(doctor.stranded_work()))
        yield health_checks.partitions(await ask(doctor.missing_partitions()))
        yield health_checks.retention(await ask(doctor.unpruned()), limits)
        yield health_checks.leases(await ask(doctor.overdue_leases()), limits)
        yield health_checks.uncounted(await ask(doctor.uncounted()), limits)
        yield health_checks.endless_keys(await ask(access.endless_admin_keys()))

    async def _slots(self) -> list[StaleSlot]:
        try:
            return await self._database.run(doctor.stale_slots())
        except DatabaseUnavailable:
            raise
        except DatabaseError:  # Aurora tells where its log ends only under logical replication
            return await self._database.run(doctor.stale_slots(measured=False))

    async def _listen(self) -> Iterable[Finding]:
        try:
            heard = await notifications_arrive(self._database.dsn, self._listen_dsn)
        except DatabaseUnavailable as error:
            return health_checks.nowhere_to_listen(str(error))
        return () if heard else health_checks.notifications(apart=self._listen_dsn is not None)

    async def _look_at_server(self) -> tuple[ServerFacts, float]:
        asked_at = time()
        server = await self._database.run(doctor.server())
        # Its clock was read somewhere between the question and the answer.
        return server, (asked_at + time()) / 2 - server.clock


def _not_made(error: Exception) -> Finding:
    said = str(error).partition("\n")[0]
    return Finding(
        severity=Severity.WARNING,
        problem=f"this check could not be made: {type(error).__name__}{': ' if said else ''}{said}",
        advice="see whether the app's own tables are up to date",
    )


async def notifications_arrive(dsn: str, listen_dsn: str | None = None, within: float = ANSWER_WITHIN) -> bool:
    """Listen on one new connection, notify from another, and wait so many seconds for what must come."""
    channel = probe_channel()
    with translated():
        async with (
            await connect_async(listen_dsn or dsn, "doctor") as listener,
            await connect_async(dsn, "doctor") as speaker,
        ):
            await listener.execute(f"listen {channel}".encode())
            await run_async(speaker, send_probe(channel))
            heard = await _heard(listener, channel, within)
            await listener.execute(f"unlisten {channel}".encode())
            return heard


async def _heard(listener: AsyncConnection, channel: str, within: float) -> bool:
    async with aclosing(listener.notifies(timeout=within)) as notifies:
        async for notify in notifies:
            if notify.channel == channel:
                return True
    return False
