"""The error that the bootstrap raises, and a function that runs a command and raises it on failure."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from typing import IO


class SetupError(Exception):
    """`.venv` cannot be created; the message says what was tried and what to do."""


def run_or_fail(command: Sequence[str], *, env: Mapping[str, str] | None = None, stdout: IO[str] | None = None) -> None:
    """Run a command. Raises SetupError if it fails; its own message is on stderr."""
    if subprocess.run(command, env=env, stdout=stdout, check=False).returncode:
        raise SetupError(f"this command failed (see its output above): {' '.join(command)}")
