"""Where packages come from: what the machine configures for uv or for pip, told to both of them alike.

uv does not read pip's settings, and a machine that is set up for pip alone must do. Nothing here names an
index: where nothing is configured, uv and pip use their own default.
"""

from __future__ import annotations

import configparser
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PIP_SECTIONS = ("global", "download", "install")
UV_VARIABLES = (
    "UV_DEFAULT_INDEX",
    "UV_INDEX_URL",
    "UV_INDEX",
    "UV_EXTRA_INDEX_URL",
    "UV_FIND_LINKS",
    "UV_CONFIG_FILE",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexes:
    """The configured places of packages; all empty means each tool's own default."""

    main: str = ""
    extra: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    trusted_hosts: tuple[str, ...] = ()
    certificates: str = ""

    @property
    def urls(self) -> tuple[str, ...]:
        """Every index, the main one first."""
        return (self.main, *self.extra) if self.main else self.extra


def configured(environment: Mapping[str, str]) -> Indexes:
    """Read uv's settings if there are any, else pip's."""
    return from_uv(environment) if has_uv_settings(environment) else from_pip(environment)


def has_uv_settings(environment: Mapping[str, str]) -> bool:
    home = Path(environment.get("XDG_CONFIG_HOME") or home_of(environment) / ".config")
    files = (home / "uv" / "uv.toml", Path("/etc/uv/uv.toml"))
    return any(environment.get(name) for name in UV_VARIABLES) or any(os.access(file, os.R_OK) for file in files)


def from_uv(environment: Mapping[str, str]) -> Indexes:
    def words(name: str) -> tuple[str, ...]:
        return tuple(environment.get(name, "").split())

    return Indexes(
        main=without_name(environment.get("UV_DEFAULT_INDEX") or environment.get("UV_INDEX_URL") or ""),
        extra=tuple(without_name(word) for word in words("UV_INDEX") or words("UV_EXTRA_INDEX_URL")),
        find_links=tuple(environment.get("UV_FIND_LINKS", "").replace(",", " ").split()),
        trusted_hosts=words("UV_INSECURE_HOST"),
        certificates=environment.get("SSL_CERT_FILE", ""),
    )


def without_name(index: str) -> str:
    """An index may be written `name=url` for uv."""
    name, equals, url = index.partition("=")
    return url if equals and name.isidentifier() else index


def from_pip(environment: Mapping[str, str]) -> Indexes:
    settings = pip_settings(environment)

    def words(name: str) -> tuple[str, ...]:
        return tuple(settings.get(name, "").split())

    return Indexes(
        main=settings.get("index-url", "").strip(),
        extra=words("extra-index-url"),
        find_links=words("find-links"),
        trusted_hosts=words("trusted-host"),
        certificates=settings.get("cert", "").strip() or environment.get("SSL_CERT_FILE", ""),
    )


def pip_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Lay pip's layers over each other: files from the widest to the nearest, then the environment."""
    settings: dict[str, str] = {}
    for file in pip_files(environment):
        parser = configparser.RawConfigParser()
        try:
            parser.read(file, encoding="utf-8")
        except (OSError, configparser.Error):
            continue
        for section in PIP_SECTIONS:
            if parser.has_section(section):
                settings.update(parser.items(section))
    settings.update({plain_name(name): value for name, value in environment.items() if name.startswith("PIP_")})
    return settings


def pip_files(environment: Mapping[str, str]) -> Iterator[Path]:
    only = environment.get("PIP_CONFIG_FILE")
    if only == os.devnull:
        return
    home = home_of(environment)
    for folder in environment.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":"):
        yield Path(folder) / "pip" / "pip.conf"
    yield Path("/etc/pip.conf")
    yield home / ".pip" / "pip.conf"
    yield Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "pip" / "pip.conf"
    yield Path(sys.prefix) / "pip.conf"
    if only:
        yield Path(only)


def plain_name(variable: str) -> str:
    return variable.removeprefix("PIP_").lower().replace("_", "-")


def home_of(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("HOME") or "/nonexistent")


def variables_for_uv(environment: Mapping[str, str]) -> dict[str, str]:
    """What uv's environment needs so that uv looks where pip would; nothing where uv has its own settings."""
    if has_uv_settings(environment):
        return {}
    found = from_pip(environment)
    wanted = {
        "UV_DEFAULT_INDEX": found.main,
        "UV_INDEX": " ".join(found.extra),
        "UV_FIND_LINKS": ",".join(link for link in found.find_links if "://" in link or Path(link).exists()),
        "UV_INSECURE_HOST": " ".join(found.trusted_hosts),
        # As pip does: one index does not hide another. The hashes in the lock file say which file is meant.
        "UV_INDEX_STRATEGY": "unsafe-best-match" if found.extra else "",
        "SSL_CERT_FILE": environment.get("SSL_CERT_FILE") or found.certificates,
    }
    return {name: value for name, value in wanted.items() if value}


def variables_for_pip(environment: Mapping[str, str]) -> dict[str, str]:
    """What pip's environment needs so that pip looks where uv would, and trusts whom."""
    found = from_uv(environment) if has_uv_settings(environment) else Indexes()
    wanted = {
        "PIP_INDEX_URL": found.main,
        "PIP_EXTRA_INDEX_URL": " ".join(found.extra),
        "PIP_FIND_LINKS": " ".join(found.find_links),
        "PIP_TRUSTED_HOST": " ".join(found.trusted_hosts),
        "PIP_CERT": pip_settings(environment).get("cert") or environment.get("SSL_CERT_FILE", ""),
    }
    return {name: value for name, value in wanted.items() if value}
