"""The bill of materials of a release: valid CycloneDX that lists what the lock file and the vendored files pin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from tests.packaging.test_vendored import PACKAGES
from tools.release import KINDS, PROJECTS, build_release
from tools.sbom import LOCK, write_sbom


@pytest.fixture(scope="module")
def sbom(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_sbom("1.2.3", tmp_path_factory.mktemp("dist")).read_text("utf-8")


@pytest.fixture
def components(sbom: str) -> dict[str, dict[str, Any]]:
    """The components by their package URLs."""
    return {each["purl"]: each for each in json.loads(sbom)["components"]}


def digests_of(component: dict[str, Any]) -> set[str]:
    return {each["content"] for each in component["hashes"] if each["alg"] == "SHA-256"}


def test_release_contains_a_bill_of_materials(tmp_path: Path) -> None:
    built = [file.name for file in build_release("1.2.3", tmp_path)]

    assert len(built) == len(PROJECTS) * len(KINDS) + 1
    assert built[-1] == "rolecall-1.2.3.cdx.json"


def test_bill_of_materials_is_valid_and_describes_the_version(sbom: str) -> None:
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(sbom) is None
    assert json.loads(sbom)["metadata"]["component"]["purl"] == "pkg:pypi/rolecall@1.2.3"


def test_every_locked_package_is_listed_with_version_and_digests(components: dict[str, dict[str, Any]]) -> None:
    listed = {purl: digests_of(each) for purl, each in components.items() if purl.startswith("pkg:pypi/")}
    locked: dict[str, set[str]] = {}
    for word in LOCK.read_text("utf-8").split():
        name, _, pinned = word.partition("==")
        if name and pinned:
            purl = f"pkg:pypi/{name}@{pinned}"
        elif word.startswith("--hash=sha256:"):
            locked.setdefault(purl, set()).add(word.partition(":")[2])

    assert len(locked) > 50
    assert listed == locked


def test_every_vendored_file_is_listed_with_its_digest(components: dict[str, dict[str, Any]]) -> None:
    for package in PACKAGES:
        component = components[f"pkg:npm/{package['name']}@{package['version']}"]
        files = {each["name"]: digests_of(each) for each in component["components"]}
        assert files == {name: {file["sha256"]} for name, file in package["files"].items()}
