"""A program that forgets its client ends as quickly as one that closes it, on each Python of this machine."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from tests.pythons import python

__all__ = ["python"]

# The exit time is measured inside the program, because its start can be slow.
PROGRAM = """
import atexit, sys, time
from rolecall import App, Client

app = App("shop")

@app.task
def greet(name: str) -> None: ...

client = Client(sys.argv[1], app=app)
client.enqueue(greet, {"name": "Ada"})
if sys.argv[2] == "close":
    client.close()
print(time.time(), flush=True)
"""


def seconds_to_end(python: Path, database: str, manner: str) -> float:
    done = subprocess.run([python, "-c", PROGRAM, database, manner], check=False, capture_output=True, text=True)
    ended = time.time()
    assert (done.returncode, done.stderr) == (0, "")
    return ended - float(done.stdout)


def test_unclosed_client_does_not_block_the_exit(python: Path, database: str) -> None:
    closed = seconds_to_end(python, database, "close")

    # A pool that is not closed waits five seconds for each of its threads, and reports that they did not end.
    assert seconds_to_end(python, database, "forget") < closed + 4
