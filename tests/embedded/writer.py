"""A process that attaches and inserts rows, recording each number after its commit was acknowledged."""

from __future__ import annotations

import os
import sys
from itertools import count
from pathlib import Path

import psycopg

from rolecall.embedded.server import EmbeddedServer


def main(data_dir: Path, name: str, acknowledged: Path) -> None:
    """Write until killed."""
    log = os.open(acknowledged, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with EmbeddedServer(data_dir) as server, psycopg.connect(server.dsn(), autocommit=True) as connection:
        for number in count():
            connection.execute("insert into acks values (%s, %s)", [name, number])
            os.write(log, f"{number}\n".encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
