"""Commands do not show redacted values."""

from __future__ import annotations

from pathlib import Path

import pytest

from rolecall.db.connect import connect
from rolecall.db.run import run
from rolecall.sql import roles
from rolecall.sql.encoding import encode
from tests.cli.conftest import Run
from tests.secrets import CANARY, SIGN, payload, program


@pytest.fixture(autouse=True)
def vault(dsn: str) -> None:
    with connect(dsn, "test") as connection:
        run(connection, roles.declare(*program().declaration()))


def test_tasks_schedules_and_chains_are_shown_without_redacted_values(cli: Run, folder: Path) -> None:
    """A task is enqueued, completed and shown in each way; a schedule is stored, shown and changed."""
    given = payload(login={"name": "ada", "passphrase": f"{CANARY}-password"})
    (folder / "payload.json").write_text(encode(given))
    result = ("--handler", "sync", "--payload", "@payload.json")
    task_id = cli("enqueue", "sync", "@payload.json", "--json").json["id"]
    answers = [
        cli("tasks", "complete", task_id, "--result", f'{{"number": 1, "pin": "{CANARY}"}}'),
        cli("tasks", "show", task_id),
        cli("tasks", "show", task_id, "--json"),
        cli("chains", "show", task_id),
        cli("chains", "show", task_id, "--json"),
        cli("schedules", "put", "nightly", "--every", "1d", *result),
        cli("schedules", "show", "nightly"),
        cli("schedules", "show", "nightly", "--json"),
        cli("schedules", "list", "--json"),
        cli("enqueue", "sync", encode(given | {"token": [CANARY]})),
        cli("tasks", "list", "--text", CANARY),
        cli("audit", "list", "--json"),
    ]

    logged = " ".join(answer.out + answer.err for answer in answers)
    assert CANARY not in logged.replace(f"--text {CANARY}", "")
    assert all(SIGN in answer.out for answer in answers[1:5] + answers[6:9])
