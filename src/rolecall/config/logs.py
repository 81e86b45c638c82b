"""Settings of logging."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rolecall.config.parsing import one_of, yes_or_no
from rolecall.config.setting import Setting, Source


class LogFormat(StrEnum):
    """The format of log lines."""

    text = "text"
    json = "json"


class LogLevel(StrEnum):
    """The lowest level that is logged."""

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
    meaning="The format of log lines on stderr.",
)
LOG_LEVEL = Setting(
    name="ROLECALL_LOG_LEVEL",
    flag="--log-level",
    form="LEVEL",
    default="info",
    parse=one_of(LogLevel),
    meaning="The lowest level to log: debug (of Rolecall and the app's package), info, warning or error.",
)
LOG_TRACEBACKS = Setting(
    name="ROLECALL_LOG_TRACEBACKS",
    flag="--log-tracebacks",
    form="yes|no",
    default="no",
    parse=yes_or_no,
    meaning="Whether text lines of failed tasks include tracebacks. JSON always includes them.",
)
SETTINGS = (LOG, LOG_LEVEL, LOG_TRACEBACKS)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """Settings of logging. With `tracebacks`, text output includes those of failed tasks, as JSON always does."""

    format: LogFormat = LogFormat.text
    level: LogLevel = LogLevel.info
    tracebacks: bool = False


def read_log_settings(source: Source) -> LogSettings:
    """Read the settings of logging. Raises ConfigError."""
    standard = LogSettings()
    return LogSettings(
        format=source.read(LOG, standard.format),
        level=source.read(LOG_LEVEL, standard.level),
        tracebacks=source.read(LOG_TRACEBACKS, standard.tracebacks),
    )
