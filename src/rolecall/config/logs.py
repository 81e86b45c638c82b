"""What is logged, and how it looks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rolecall.config.parsing import one_of, yes_or_no
from rolecall.config.setting import Setting, Source

__all__ = ["SETTINGS", "LogFormat", "LogLevel", "LogSettings", "read_log_settings"]


class LogFormat(StrEnum):
    """How a log line looks."""

    text = "text"
    json = "json"


class LogLevel(StrEnum):
    """The least level that is written."""

    debug = "debug"
    info = "info"
    warning = "warning"
    error = "error"


LOG = Setting(
    name="ROLECALL_LOG",
    flag="--log",
    form="text|json",
    default="text",
    parse=one_of(LogFormat),
    meaning="How log lines look, which go to stderr.",
)
LOG_LEVEL = Setting(
    name="ROLECALL_LOG_LEVEL",
    flag="--log-level",
    form="LEVEL",
    default="info",
    parse=one_of(LogLevel),
    meaning="The least level that is written: debug, info, warning or error.",
)
LOG_TRACEBACKS = Setting(
    name="ROLECALL_LOG_TRACEBACKS",
    flag="--log-tracebacks",
    form="yes|no",
    default="no",
    parse=yes_or_no,
    meaning="Whether lines about failed tasks bring their tracebacks; as json they always do.",
)
SETTINGS = (LOG, LOG_LEVEL, LOG_TRACEBACKS)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """What is logged, and how it looks; `tracebacks` has those of failed tasks in text, too: JSON always has them."""

    format: LogFormat = LogFormat.text
    level: LogLevel = LogLevel.info
    tracebacks: bool = False


def read_log_settings(source: Source) -> LogSettings:
    """Read what is logged. Raises ConfigError."""
    standard = LogSettings()
    return LogSettings(
        format=source.read(LOG, standard.format),
        level=source.read(LOG_LEVEL, standard.level),
        tracebacks=source.read(LOG_TRACEBACKS, standard.tracebacks),
    )
