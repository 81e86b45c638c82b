"""The error that the bootstrap raises on purpose, and the usual reason for it: a command that failed."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from typing import IO


class SetupError(Exception):
    """`.venv` cannot be made; the message says what was tried and what to do."""


def run_or_fail(command: Sequence[str], *, env: Mapping[str, str] | None = None, stdout: IO[str] | None = None) -> None:
    """Run a command to its end. Raises SetupError; the command has then said why on stderr."""
    if subprocess.run(command, env=env, stdout=stdout, check=False).returncode:
        raise SetupError(f"this command failed, see above: {' '.join(command)}")
