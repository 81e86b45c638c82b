"""Settings as frozen values, read once from flags and environment variables.

A flag overrides its variable, and an empty text counts as unset. An invalid text raises ConfigError, which names the
flag or variable. Rolecall's variables start with ROLECALL_. Shorter names, and names of other systems, are read if
those are unset. `SETTINGS` lists all settings by subject.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from rolecall.config import access, alerting, brokers, database, handoff, logs, scaling, worker
from rolecall.config.access import AccessSettings, AuthMode, HttpSettings
from rolecall.config.alerting import AlertingSettings
from rolecall.config.database import DatabaseSettings
from rolecall.config.handoff import HandoffSettings
from rolecall.config.logs import LogFormat, LogLevel, LogSettings
from rolecall.config.scaling import ScalingSettings
from rolecall.config.setting import Setting, Source
from rolecall.config.worker import WorkerSettings

__all__ = [
    "AccessSettings",
    "AlertingSettings",
    "AuthMode",
    "DatabaseSettings",
    "HttpSettings",
    "LogFormat",
    "LogLevel",
    "LogSettings",
    "ScalingSettings",
    "Setting",
    "Settings",
    "WorkerSettings",
    "read_alerting",
    "read_database",
    "read_settings",
]

SETTINGS: Mapping[str, tuple[Setting[object], ...]] = MappingProxyType(
    {
        "Database": database.SETTINGS,
        "Logging": logs.SETTINGS,
        "Workers": worker.SETTINGS,
        "Notifications": brokers.SETTINGS,
        "API and dashboard": access.SETTINGS,
        "Dispatch through Redis": handoff.SETTINGS,
        "Alerts": alerting.SETTINGS,
        "Kubernetes": scaling.SETTINGS,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings. `notifications` is a keyword or the address of a broker."""

    database: DatabaseSettings = field(default_factory=DatabaseSettings)
    log: LogSettings = field(default_factory=LogSettings)
    worker: WorkerSettings = field(default_factory=WorkerSettings)
    http: HttpSettings = field(default_factory=HttpSettings)
    scaling: ScalingSettings = field(default_factory=ScalingSettings)
    access: AccessSettings = field(default_factory=AccessSettings)
    notifications: str = field(default="postgres", repr=False)
    handoff: HandoffSettings = field(default_factory=HandoffSettings)


def read_settings(environ: Mapping[str, str] = os.environ, flags: Mapping[str, str | None] | None = None) -> Settings:
    """Read all settings. `flags` contains the given flags by the names of their settings."""
    source = Source(environ, flags or {})
    of_database = database.read_database_settings(source)
    return Settings(
        database=of_database,
        log=logs.read_log_settings(source),
        worker=worker.read_worker_settings(source),
        http=access.read_http_settings(source),
        scaling=scaling.read_scaling_settings(source),
        access=access.read_access_settings(source, of_database),
        notifications=source.read(brokers.NOTIFICATIONS, "postgres"),
        handoff=handoff.read_handoff_settings(source),
    )


def read_database(environ: Mapping[str, str] = os.environ) -> DatabaseSettings:
    """Read only the settings of the database, from the environment."""
    return database.read_database_settings(Source(environ, {}))


def read_alerting(environ: Mapping[str, str] = os.environ) -> AlertingSettings:
    """Read only the settings of alerts, from the environment."""
    return alerting.read_alerting_settings(Source(environ, {}))
