"""Builds a release and checks it. Uploads nothing and creates no tag.

All distributions must have the same version, the changelog must have a section for it with entries, nothing may be
left under "Unreleased", and the work tree must have no changes. The metadata of each file must be valid. A
software bill of materials is added. Prints the commands that tag and upload the release.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from packaging.metadata import Metadata

from tools import bootstrap
from tools.offences import ROOT
from tools.sbom import write_sbom

Kind = Literal["sdist", "wheel"]
DIST = ROOT / "dist"
KINDS: tuple[Kind, ...] = ("sdist", "wheel")
SECTION = re.compile(r"^## (.+)$", re.MULTILINE)


def main() -> int:
    """Check the tree, build all files into `dist/`, and check them; return 1 if there is a problem."""
    versions = {_metadata(folder)["version"] for folder in PROJECTS.values()}
    problems = [*version_problems(versions), *changelog_problems((ROOT / "CHANGELOG.md").read_text("utf-8"), versions)]
    problems += tree_problems(ROOT)
    if not problems:
        [version] = versions
        shutil.rmtree(DIST, ignore_errors=True)
        for file in build_release(version, DIST):
            problems += [] if file.suffix == ".json" else metadata_problems(file)
            print(f"built {file.relative_to(ROOT)}")
    for problem in problems:
        print(f"release: {problem}", file=sys.stderr)
    if not problems:
        upload = "upload dist/*.whl and dist/*.tar.gz"
        print(f"release {version} is ready: git tag v{version}, {upload}, then ./dev schema --freeze")
    return bool(problems)


def version_problems(versions: set[str]) -> Iterator[str]:
    """Yield a problem if the distributions have different versions."""
    if len(versions) > 1:
        yield f"the distributions have different versions: {', '.join(sorted(versions))}"


def changelog_problems(text: str, versions: set[str]) -> Iterator[str]:
    """Yield what is missing in the changelog for these versions."""
    _, *parts = SECTION.split(text)
    sections = dict(zip(parts[::2], map(str.strip, parts[1::2]), strict=True))
    if sections.get("Unreleased"):
        yield 'the changelog has entries under "Unreleased": move them to the section of the version'
    for version in sorted(versions):
        if not sections.get(version):
            yield f"the changelog has no entries for {version}"


def tree_problems(root: Path) -> Iterator[str]:
    """Yield a problem if the work tree has uncommitted changes."""
    done = subprocess.run(["git", "status", "--porcelain"], cwd=root, check=True, capture_output=True, text=True)
    if done.stdout:
        yield "the work tree has uncommitted changes"


def build_release(version: str, folder: Path) -> Iterator[Path]:
    """Build all distributions and the software bill of materials into a folder, and yield each file."""
    folder.mkdir(exist_ok=True)
    for project in PROJECTS:
        for kind in KINDS:
            yield build(project, kind, folder)
    yield write_sbom(version, folder)


def build(project: str, kind: Kind, folder: Path) -> Path:
    """Build a distribution of a project into a folder, and return the file. Needs no network."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    subprocess.run(command, cwd=PROJECTS[project], check=True, stdout=subprocess.DEVNULL)
    pattern = f"{project.replace('-', '_')}-[0-9]*{'.whl' if kind == 'wheel' else '.tar.gz'}"
    [built] = folder.glob(pattern)
    return built


def metadata_problems(file: Path) -> Iterator[str]:
    """Yield what is invalid or missing in the metadata of a wheel or an sdist."""
    try:
        metadata = Metadata.from_email(_metadata_of(file), validate=True)
    except ExceptionGroup as group:
        yield from (f"{file.name}: {error}" for error in group.exceptions)
        return
    for field in ("summary", "description", "license_expression", "requires_python", "classifiers"):
        if not getattr(metadata, field):
            yield f"{file.name}: the metadata has no {field}"


def _metadata_of(file: Path) -> bytes:
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as wheel:
            [name] = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
            return wheel.read(name)
    with tarfile.open(file) as sdist:
        member = sdist.extractfile(f"{file.name.removesuffix('.tar.gz')}/PKG-INFO")
        if member is None:
            raise FileNotFoundError(f"{file} has no PKG-INFO")
        return member.read()


def _metadata(folder: Path) -> dict[str, str]:
    table: dict[str, str] = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    return table


PROJECTS = {_metadata(ROOT / place)["name"]: ROOT / place for place in bootstrap.PROJECTS}


if __name__ == "__main__":
    sys.exit(main())
