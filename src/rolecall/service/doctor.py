"""The doctor: finds problems of the server and the workers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from time import time
from typing import TYPE_CHECKING

from rolecall.db.connect import connect_async
from rolecall.db.pooler import AsyncConnection
from rolecall.db.run import run_async, translating_errors
from rolecall.model.errors import DatabaseError, DatabaseUnavailable
from rolecall.model.findings import Finding, Severity
from rolecall.model.operator.doctor import Diagnosis, Limits, ServerFacts, StaleSlot, Verdict
from rolecall.model.operator.problems import ProblemKind
from rolecall.service import alerts, health_checks
from rolecall.service.database import Database
from rolecall.service.handoff import Handoff
from rolecall.service.notifications import NotificationSettings, require_beat
from rolecall.service.problems import Problems
from rolecall.sql import access, doctor, roles, schedules, workers
from rolecall.transport.listener import notify, probe_channel
from rolecall.transport.transport import Reach, Transport

if TYPE_CHECKING:
    from rolecall.app.declarations import AppCheck

CHECKS = (
    "autovacuum",
    "clocks",
    "contested_declarations",
    "duties",
    "endless_keys",
    "expired_leases",
    "frozen_age",
    "fsync",
    "full_page_writes",
    "hidden_values",
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
    "statement_timeout",
    "synchronous_commit",
    "table_care",
    "withdrawn_schedules",
)
LISTENING = "notifications"
# Only if Redis hands over tasks.
HANDOFF = "handoff"
# Only if queries may use a standby.
STANDBY = "standby"
CHECK_SECONDS = 10.0
VERDICTS = {None: Verdict.FINE, Severity.WARNING: Verdict.WARNING, Severity.TROUBLE: Verdict.TROUBLE}
# Long enough for a busy machine. Only if nothing arrives does a check take this long.
ANSWER_WITHIN = 10.0


class Doctor:
    """Runs all checks, including those of apps. Changes nothing."""

    def __init__(
        self,
        database: Database,
        limits: Limits | None = None,
        notifications: NotificationSettings | None = None,
        checks: Sequence[AppCheck] = (),
        handoff: Handoff | None = None,
        standby_url: str | None = None,
    ) -> None:
        self._database = database
        self._notifications = notifications or NotificationSettings()
        self._limits = limits or Limits()
        self._checks = checks
        self._handoff = handoff
        self._standby_url = standby_url

    async def examine(self, *, listening: bool = True, problems: bool = True) -> Diagnosis:
        """Run every check and sort the findings, worst first. With `listening`, notifications are tested on new
        connections; without `problems`, those of the pool are left out.
        """
        found = list(alerts.findings_of(await Problems(self._database).list() if problems else ()))
        found += [finding async for findings in self._findings() for finding in findings]
        transport = self._notifications.transport(self._database.dsn) if listening else None
        notification_findings = await self._listen(transport) if transport else []
        found += notification_findings
        found += await self.run_app_checks()
        handed_over = await self._handoff.show() if self._handoff else None
        found += health_checks.handoff(handed_over)
        found += await self._check_standby(self._standby_url) if self._standby_url else []
        found.sort(key=lambda finding: finding.severity is not Severity.TROUBLE)
        worst = found[0].severity if found else None
        builtin = CHECKS if listening else tuple(check for check in CHECKS if check != LISTENING)
        rare = [
            *(ProblemKind if problems else []),
            *([HANDOFF] if handed_over else []),
            *([STANDBY] if self._standby_url else []),
        ]
        checks = (*builtin, *rare, *(check.name for check in self._checks))
        by = transport.name if transport and not notification_findings else None
        return Diagnosis(verdict=VERDICTS[worst], findings=found, checks=checks, notifications=by)

    async def run_app_checks(self) -> list[Finding]:
        """Run only the checks of apps."""
        return [finding for check in self._checks for finding in await self._run_check(check)]

    async def _run_check(self, check: AppCheck) -> list[Finding]:
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                found = await self._database.inspect(check.look)
        except Exception as error:  # noqa: BLE001 - an app's failing check must not stop the others
            found = [_failed_check(error)]
        return [replace(finding, check=check.name, app=check.app) for finding in found]

    async def _findings(self) -> AsyncIterator[Iterable[Finding]]:
        run, limits = self._database.run, self._limits
        server, here = await self._read_server()
        yield health_checks.settings(server, limits)
        yield health_checks.statement_timeouts(await run(doctor.statement_timeouts()), limits)
        yield health_checks.counters(server, limits)
        yield health_checks.snapshots(await run(doctor.oldest_snapshot()), limits)
        yield health_checks.prepared_transactions(await run(doctor.prepared_transactions()), limits)
        yield health_checks.slots(await self._slots(), limits)
        yield health_checks.tables(await run(doctor.tables()))
        yield health_checks.clocks(await run(doctor.clocks()), here, limits)
        yield health_checks.hidden_values(await run(roles.list_handlers()))
        yield health_checks.withdrawn_schedules(await run(schedules.list_()))
        yield health_checks.contested_declarations(await run(workers.contested_declarations()))
        yield health_checks.partitions(await run(doctor.missing_partitions()))
        yield health_checks.retention(await run(doctor.unpruned_records()), limits)
        yield health_checks.duties(await run(doctor.duties()), limits)
        yield health_checks.leases(await run(doctor.overdue_leases()), limits)
        yield health_checks.uncounted_changes(await run(doctor.uncounted_tasks()), limits)
        yield health_checks.endless_keys(await run(access.endless_admin_keys()))

    async def _slots(self) -> list[StaleSlot]:
        try:
            return await self._database.run(doctor.stale_slots())
        except DatabaseUnavailable:
            raise
        except DatabaseError:  # Aurora reports the end of its log only with logical replication
            return await self._database.run(doctor.stale_slots(measured=False))

    async def _listen(self, transport: Transport) -> list[Finding]:
        if transport.reach in {Reach.PROCESS, Reach.NOTHING}:
            return []
        listen_dsn = self._notifications.listen_dsn
        try:
            heard = await notifications_arrive(self._database.dsn, listen_dsn)
        except DatabaseUnavailable as error:
            return list(health_checks.nowhere_to_listen(str(error)))
        if not heard:
            return list(health_checks.notifications(apart=listen_dsn is not None))
        return await self._check_relay(transport) if transport.reach is Reach.RELAYED else []

    async def _check_relay(self, transport: Transport) -> list[Finding]:
        try:
            await require_beat(transport)
        except Exception as error:  # noqa: BLE001 - a failing transport must not stop the other checks
            return list(health_checks.silent_relay(transport.name, str(error)))
        return []

    async def _check_standby(self, standby_url: str) -> list[Finding]:
        cluster, position = await self._database.run(doctor.how_far_written())
        try:
            async with await connect_async(standby_url, "doctor") as standby:
                found = await run_async(standby, doctor.how_far_behind(position))
        except DatabaseUnavailable as error:
            return list(health_checks.no_standby(str(error)))
        return list(health_checks.standby(found, cluster, self._limits))

    async def _read_server(self) -> tuple[ServerFacts, float]:
        asked_at = time()
        server = await self._database.run(doctor.server())
        # The server read its clock at some time between request and response.
        return server, (asked_at + time()) / 2 - server.clock


def _failed_check(error: Exception) -> Finding:
    message = str(error).partition("\n")[0]
    return Finding(
        severity=Severity.WARNING,
        problem=f"this check failed to run: {type(error).__name__}{': ' if message else ''}{message}",
        advice="check whether the app's own tables are up to date",
    )


async def notifications_arrive(dsn: str, listen_dsn: str | None = None, within: float = ANSWER_WITHIN) -> bool:
    """Listen on one new connection, notify from another, and return whether it arrives within the given seconds."""
    channel = probe_channel()
    with translating_errors():
        async with (
            await connect_async(listen_dsn or dsn, "doctor") as listener,
            await connect_async(dsn, "doctor") as speaker,
        ):
            await listener.execute(f"listen {channel}".encode())
            await run_async(speaker, notify(channel))
            heard = await _arrives(listener, channel, within)
            await listener.execute(f"unlisten {channel}".encode())
            return heard


async def _arrives(listener: AsyncConnection, channel: str, within: float) -> bool:
    async with aclosing(listener.notifies(timeout=within)) as notifies:
        async for notify in notifies:
            if notify.channel == channel:
                return True
    return False
