"""License, description and author in the metadata of the distributions."""

from __future__ import annotations

import tarfile
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

from tests.pythons import SUPPORTED
from tools.offences import ROOT
from tools.release import PROJECTS, build

MOST_PACKAGES = 6


@pytest.fixture(scope="module", params=PROJECTS)
def project(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def wheel(project: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The texts of a wheel's `dist-info`, by their names there."""
    with ZipFile(build(project, "wheel", tmp_path_factory.mktemp("wheel"))) as packed:
        return {
            name.partition(".dist-info/")[2]: packed.read(name).decode()
            for name in packed.namelist()
            if ".dist-info/" in name
        }


@pytest.fixture(scope="module")
def metadata(wheel: dict[str, str]) -> Message:
    return HeaderParser().parsestr(wheel["METADATA"])


def test_wheel_contains_the_license(wheel: dict[str, str], metadata: Message) -> None:
    assert metadata["License-Expression"] == "Apache-2.0"
    assert wheel["licenses/LICENSE"] == (ROOT / "LICENSE").read_text()
    assert "Version 2.0, January 2004" in wheel["licenses/LICENSE"]


def test_wheel_metadata_names_project_and_author(project: str, metadata: Message) -> None:
    assert metadata["Author"] == "Rolecall contributors"
    assert metadata.get_payload() == (PROJECTS[project] / "README.md").read_text()
    classifiers = metadata.get_all("Classifier", [])
    assert [each for each in SUPPORTED if f"Programming Language :: Python :: {each}" not in classifiers] == []
    assert metadata["Keywords"]


def test_metadata_names_no_url_before_one_exists(metadata: Message) -> None:
    assert metadata.get_all("Project-URL", []) == []


def test_source_distribution_contains_the_license(project: str, tmp_path: Path) -> None:
    with tarfile.open(build(project, "sdist", tmp_path)) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}

    assert {"LICENSE", "README.md", "pyproject.toml"} <= names


def requirements(wheel: Path) -> list[Requirement]:
    """Return the requirements of a wheel, with those of its extras."""
    with ZipFile(wheel) as packed:
        [name] = [name for name in packed.namelist() if name.endswith(".dist-info/METADATA")]
        wanted = HeaderParser().parsestr(packed.read(name).decode()).get_all("Requires-Dist", [])
    return [Requirement(each) for each in wanted]


def test_library_without_extras_requires_at_most_six_packages(tmp_path: Path) -> None:
    wanted = requirements(build("rolecall", "wheel", tmp_path))

    assert 0 < len([each for each in wanted if "extra ==" not in str(each.marker)]) <= MOST_PACKAGES
