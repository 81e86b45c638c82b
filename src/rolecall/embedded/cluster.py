"""Creates a cluster (initdb under a temporary name, then rename) and writes its settings."""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Mapping
from pathlib import Path

from rolecall.embedded.binaries import Binaries
from rolecall.embedded.connection import SUPERUSER
from rolecall.embedded.errors import StartFailed
from rolecall.embedded.home import UNFINISHED, Home, sync_folder, write_durably
from rolecall.embedded.process import Account, clean_environment

BUILTIN_LOCALES_SINCE = 17
INITDB_SECONDS = 300


def make_cluster(home: Home, binaries: Binaries, account: Account) -> Path:
    """Create the cluster of the binaries' major version. If the process is killed, the unfinished cluster is
    discarded later.

    Raises `StartFailed`.
    """
    data = home.cluster_of(binaries.major)
    # unique for each attempt, because the initdb of a killed starter may still write to the previous one
    unfinished = data.with_name(f"{data.name}.{secrets.token_hex(4)}{UNFINISHED}")
    home.make_password()
    home.make_superuser_password()
    unfinished.mkdir(mode=0o700)
    account.give(unfinished)
    _initdb(unfinished, binaries, account, home.superuser_password())
    unfinished.rename(data)
    sync_folder(home.folder)
    return data


def configure(data: Path, settings: Mapping[str, str], port: int) -> None:
    """Replace `postgresql.conf`; settings of `ALTER SYSTEM` still take precedence."""
    lines = [f"{name} = {_quote(value)}" for name, value in {**settings, "port": str(port)}.items()]
    text = "\n".join(["# written by rolecall at each start; change ServerOptions instead", *lines, ""])
    # readable by the server's user, who may be another one; the folder is closed to all others
    write_durably(data / "postgresql.conf", text, mode=0o644)


def _initdb(folder: Path, binaries: Binaries, account: Account, password: str) -> None:
    with account.reach(folder) as reached:
        command = [
            *account.prefix,
            str(binaries.initdb),
            f"--pgdata={reached.name}",
            f"--username={SUPERUSER}",
            "--pwfile=/dev/stdin",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--data-checksums",
            *_locale(binaries.major),
        ]
        _run(command, stdin=_pipe_with(password, account), inherited=reached.descriptors)


def _run(command: list[str], *, stdin: int, inherited: tuple[int, ...]) -> None:
    try:
        subprocess.run(
            command,
            cwd="/",
            env=clean_environment(),
            stdin=stdin,
            pass_fds=inherited,
            capture_output=True,
            timeout=INITDB_SECONDS,
            check=True,
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        output = (error.stderr or b"").decode(errors="replace")
        raise StartFailed("initdb failed to create the cluster", output.strip()) from error
    finally:
        os.close(stdin)


def _locale(major: int) -> tuple[str, ...]:
    """Sort by code point, the same on every system; the builtin provider has Unicode's case mapping."""
    if major >= BUILTIN_LOCALES_SINCE:
        return "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"
    return ("--locale=C",)


def _pipe_with(text: str, account: Account) -> int:
    """Return a pipe that contains the text and that the account can open by its name."""
    reading, writing = os.pipe()
    account.give_descriptor(reading)
    os.write(writing, f"{text}\n".encode())
    os.close(writing)
    return reading


def _quote(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
