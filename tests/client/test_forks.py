"""A client that was used before a fork: each process has its own connections, as under `gunicorn --preload`."""

from __future__ import annotations

import subprocess
import sys

from tests.sql.engine import Connection

PROGRAM = """
import os, sys, warnings
from rolecall import App, Client

warnings.simplefilter("ignore", DeprecationWarning)  # of a fork in a process with threads
app = App("shop")

@app.task
def greet(name: str) -> None: ...

client = Client(sys.argv[1], app=app)
client.enqueue(greet, name="before")
child = os.fork()
with client.transaction() as connection:
    print(connection.info.backend_pid, flush=True)
for _ in range(50):
    client.enqueue(greet, name="at once")
if child:
    _, status = os.waitpid(child, 0)
    client.enqueue(greet, name="after")
    sys.exit(status)
"""


def test_parent_and_child_process_enqueue_concurrently_over_separate_sessions(
    database: str, connection: Connection
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, database], check=False, capture_output=True, text=True, timeout=60
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert len(set(done.stdout.split())) == 2
    counts = "select payload ->> 'name', count(*) from rolecall.tasks group by 1 order by 1"
    assert connection.execute(counts).fetchall() == [("after", 1), ("at once", 100), ("before", 1)]
