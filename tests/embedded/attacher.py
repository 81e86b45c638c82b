"""A process that attaches, prints one line of JSON, and detaches when its standard input is closed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rolecall.embedded.errors import EmbeddedServerError
from rolecall.embedded.server import EmbeddedServer


def main(data_dir: Path) -> int:
    """Attach until standard input is closed; print errors as the same line of JSON."""
    try:
        with EmbeddedServer(data_dir) as server:
            say(pid=server.pid, dsn=server.dsn())
            sys.stdin.read()
    except EmbeddedServerError as error:
        say(error=type(error).__name__, problem=str(error))
        return 1
    return 0


def say(**facts: object) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
