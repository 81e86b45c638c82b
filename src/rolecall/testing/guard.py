"""Stops the embedded server of a test process that cannot do so itself, for example after SIGKILL."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rolecall.embedded.server import EmbeddedServer


@contextmanager
def guard_server(folder: Path) -> Iterator[None]:
    """Run a process during the block that stops this folder's server after this process, unless others use it.

    The kernel closes its standard input when this process ends, in any way. Start the server within the block, so that
    there is no moment without a guard.
    """
    command = [sys.executable, "-m", __name__, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True) as guard:
        try:
            yield
        finally:
            guard.communicate()


def main(folder: Path) -> None:
    """Wait until standard input is closed, and stop the server. Does nothing if the folder was removed."""
    sys.stdin.read()
    if folder.exists():
        EmbeddedServer(folder).stop_if_unused()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
