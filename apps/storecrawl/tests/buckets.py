"""A real S3 server for the tests: SeaweedFS from its wheel, one per session, with its data in a temporary folder."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
import pytest

HOST = "127.0.0.1"
BUCKET = "crawl"
ACCESS_KEY = "the-access-key-of-the-tests"
SECRET = "CANARY-the-secret-of-the-tests"
PORTS = (
    "s3.port", "s3.port.grpc", "admin.port", "admin.port.grpc", "filer.port", "filer.port.grpc", "master.port",
    "master.port.grpc", "volume.port", "volume.port.grpc",
)  # fmt: skip
START_SECONDS = 40.0
STOP_SECONDS = 20.0


@contextmanager
def serving_buckets(folder: Path) -> Iterator[dict[str, str]]:
    """Run the server with one empty bucket; yield the AWS_* variables for it. Skips if there is no wheel."""
    program = Path(sys.executable).with_name("weed")
    if not program.exists():
        pytest.skip("there is no S3 server for this platform")
    ports = dict(zip(PORTS, _free_ports(len(PORTS)), strict=True))
    variables = {
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://{HOST}:{ports['s3.port']}",
    }
    flags = [
        f"-dir={folder}",
        f"-ip={HOST}",
        f"-ip.bind={HOST}",
        f"-bucket={BUCKET}",
        "-admin.ui=false",
        "-webdav=false",
        # These listen on fixed ports, and the server of another session would exit because of them.
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        "-master.telemetry=false",
    ]
    command = [str(program), "mini", *flags, *(f"-{name}={port}" for name, port in ports.items())]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, env={**os.environ, **variables}, cwd=folder, stdout=log, stderr=log)
        try:
            _wait(server, variables["AWS_ENDPOINT_URL"], folder / "log")
            yield variables
        finally:
            server.kill()
            server.wait(STOP_SECONDS)


def _wait(server: subprocess.Popen[bytes], endpoint: str, log: Path) -> None:
    """Wait until the bucket exists: until then, an unsigned request gets a 404 instead of a 403."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and server.poll() is None:
        try:
            if httpx2.get(f"{endpoint}/{BUCKET}", timeout=1).status_code == 403:
                return
        except httpx2.HTTPError:
            pass
        time.sleep(0.05)
    raise RuntimeError(f"the S3 server did not start: {log.read_text(errors='replace')[-2_000:]}")


def _free_ports(number: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for each in sockets:
            each.bind((HOST, 0))
        return [each.getsockname()[1] for each in sockets]
