"""A terminated command stops its embedded server."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = str(Path(sys.executable).with_name("storecrawl"))
SECONDS = 60


def servers(folder: Path) -> list[Path]:
    return list(folder.glob("postgres/data-*/postmaster.pid"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_terminated_command_stops_its_embedded_server(tmp_path: Path, number: signal.Signals) -> None:
    data = tmp_path / "data"
    environment = {name: text for name, text in os.environ.items() if name != "DATABASE_URL"}
    added = [COMMAND, "routes", "add", "direct", "--data-dir", str(data)]
    subprocess.run(added, env=environment, check=True, capture_output=True, timeout=SECONDS)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(SECONDS)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        command = [COMMAND, "routes", "test", "1", "--url", url, "--data-dir", str(data)]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        connection, _ = silent.accept()
        with connection:
            # `timeout` signals the process, and then its group.
            process.send_signal(number)
            process.send_signal(number)
            _, error_output = process.communicate(timeout=SECONDS)

    assert process.returncode == 128 + number, error_output
    assert servers(data) == []
