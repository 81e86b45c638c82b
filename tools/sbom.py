"""Writes the software bill of materials of a release, in CycloneDX's JSON format.

It lists the packages of `locks/run.lock` with the digests of all their files, and the files that the dashboard bundles.
With all extras and the crawler, a release can install no other packages.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import DisjunctiveLicense
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL
from packaging.requirements import Requirement

from tools.offences import ROOT

NAME = "rolecall"
LOCK = ROOT / "locks" / "run.lock"
VENDORED = ROOT / "src" / "rolecall" / "web" / "dashboard" / "assets" / "vendor" / "vendored.toml"
LOCKED = re.compile(r"^([^\s#].*?)((?: \\\n +--hash=sha256:[0-9a-f]{64})+)$", re.MULTILINE)
DIGEST = re.compile(r"sha256:([0-9a-f]{64})")


def write_sbom(version: str, folder: Path) -> Path:
    """Write the bill of materials of a version into a folder, and return the file."""
    parts = [*_locked(LOCK.read_text("utf-8")), *_vendored(VENDORED.read_text("utf-8"))]
    whole = _component(PackageURL("pypi", name=NAME, version=version))
    bom = Bom(components=parts)
    bom.metadata.component = whole
    bom.register_dependency(whole, parts)
    file = folder / f"{NAME}-{version}.cdx.json"
    make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_to_file(str(file), indent=2)
    return file


def _locked(lock: str) -> Iterator[Component]:
    for line, digests in LOCKED.findall(lock):
        requirement = Requirement(line)
        [pinned] = requirement.specifier
        component = _component(PackageURL("pypi", name=requirement.name, version=pinned.version))
        component.hashes = _hashes(DIGEST.findall(digests))
        yield component


def _vendored(table: str) -> Iterator[Component]:
    for package in tomllib.loads(table)["package"]:
        component = _component(PackageURL("npm", name=package["name"], version=package["version"]))
        component.licenses = [DisjunctiveLicense(id=package["license"])]
        component.components = [
            Component(name=name, type=ComponentType.FILE, hashes=_hashes([file["sha256"]]))
            for name, file in package["files"].items()
        ]
        yield component


def _component(package: PackageURL) -> Component:
    return Component(name=package.name, version=package.version, purl=package, bom_ref=package.to_string())


def _hashes(digests: Iterable[str]) -> list[HashType]:
    return [HashType(alg=HashAlgorithm.SHA_256, content=digest) for digest in digests]
