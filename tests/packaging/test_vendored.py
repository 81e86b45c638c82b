"""The bundled files of other projects, compared with the table of their packages and digests."""

from __future__ import annotations

import tomllib
from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile

import pytest

from tools.offences import ROOT
from tools.release import build

FOLDER = ROOT / "src" / "rolecall" / "web" / "dashboard" / "assets" / "vendor"
TABLE = FOLDER / "vendored.toml"
PACKAGES = tomllib.loads(TABLE.read_text("utf-8"))["package"]


def test_every_vendored_file_has_the_digest_of_the_table() -> None:
    listed = {name: file["sha256"] for package in PACKAGES for name, file in package["files"].items()}
    found = {file.name: sha256(file.read_bytes()).hexdigest() for file in FOLDER.iterdir() if file != TABLE}

    assert found == listed


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package["name"])
def test_a_script_of_a_vendored_package_contains_its_version(package: dict[str, str]) -> None:
    scripts = [name for name in package["files"] if name.endswith(".js")]

    assert [name for name in scripts if package["version"] in (FOLDER / name).read_text("utf-8")]


def test_wheel_declares_the_license_of_every_vendored_package(tmp_path: Path) -> None:
    with ZipFile(build("rolecall", "wheel", tmp_path)) as wheel:
        declared = {Path(name).name for name in wheel.namelist() if ".dist-info/licenses/" in name}

    for package in PACKAGES:
        [name] = [name for name, file in package["files"].items() if file["path"] == "LICENSE"]
        assert name in declared
