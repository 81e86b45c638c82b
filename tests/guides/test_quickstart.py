"""The quickstart, followed to the letter in an empty folder, on each Python of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.guides.blocks import DOCS, blocks_in
from tests.guides.reader import PATH, Reader, free_ports
from tests.packaging.installing import Environment, build_wheels
from tests.pythons import SUPPORTED, interpreters

QUICKSTART = DOCS / "quickstart.md"
USUAL_PORT = "8321"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    build_wheels(folder)
    return folder


@pytest.fixture(params=SUPPORTED)
def reader(request: pytest.FixtureRequest, tmp_path: Path, wheels: Path) -> Iterator[Reader]:
    version = str(request.param)
    python = interpreters().get(version)
    if python is None:
        pytest.skip(f"Python {version} is not installed")
    environment = Environment(tmp_path / "venv", wheels, python=python)
    environment.make()
    folder, home = tmp_path / "folder", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    variables = {"PATH": f"{environment.programs}:{PATH}", "HOME": str(home), "LANG": "C.UTF-8"}
    reader = Reader(document=QUICKSTART.name, folder=folder, environment=environment, variables=variables)
    yield reader
    reader.leave()


def test_quickstart_works(reader: Reader) -> None:
    [port] = free_ports(1)
    reader.variables = {**reader.variables, "ROLECALL_HTTP": f"127.0.0.1:{port}"}

    reader.follow(blocks_in(QUICKSTART.read_text("utf-8").replace(USUAL_PORT, str(port))))
