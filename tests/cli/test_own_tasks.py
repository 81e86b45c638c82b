"""A server whose app mounts the routes of own tasks."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.cli.processes import Spawn, ended, served, until

FLOW = """
from rolecall import App, task_results

app = App("flow")
app.include(task_results.examples())
app.mount("rolecall.web.own_tasks:router")
"""


def test_routes_are_served_and_unread_variables_are_reported(spawn: Spawn, dsn: str, folder: Path) -> None:
    (folder / "flow.py").write_text(FLOW)
    server = spawn(
        "serve", "--app", "flow:app", "--port", "0", "--json", DATABASE_URL=dsn, SECRET_KEY="s3cret-of-theirs"
    )
    api = served(server)
    until(lambda: api.get("/api/own/status").status_code == 200, "it answers")
    server.send_signal(signal.SIGTERM)
    done = ended(server)

    assert done.code == 0
    assert "Ignored: SECRET_KEY." in done.err
    assert "s3cret-of-theirs" not in done.err
