"""Reads the manifests: the individual files, and the output of kustomize for an overlay."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2] / "deploy" / "kubernetes"
OVERLAYS = ("roles", "stateful", "keda")
KUSTOMIZATION = "kustomization.yaml"
# KEDA's kinds, for which there is no schema here.
FOREIGN = ("ScaledObject", "TriggerAuthentication")

Document = dict[str, Any]
needs_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl renders the overlays")


def documents() -> Iterator[Document]:
    """Return every document that an overlay uses."""
    for file in sorted(ROOT.rglob("*.yaml")):
        if file.name != KUSTOMIZATION:
            yield from (each for each in yaml.safe_load_all(file.read_text()) if isinstance(each, dict))


def put_together(folder: Path) -> Iterator[Document]:
    """Return every document that a kustomization uses, unchanged from its file."""
    kustomization = yaml.safe_load((folder / KUSTOMIZATION).read_text())
    for name in [*kustomization.get("resources", []), *kustomization.get("components", [])]:
        if (folder / name).is_dir():
            yield from put_together(folder / name)
        else:
            yield from yaml.safe_load_all((folder / name).read_text())


@cache
def rendered(overlay: str) -> tuple[Document, ...]:
    """Return the documents that would be applied."""
    command = ["kubectl", "kustomize", str(ROOT / "overlays" / overlay)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return tuple(yaml.safe_load_all(text))


def of_kind(found: Iterator[Document] | tuple[Document, ...], *kinds: str) -> list[Document]:
    return [each for each in found if each["kind"] in kinds]


def named(found: list[Document], name: str) -> Document:
    [document] = [each for each in found if each["metadata"]["name"] == name]
    return document


def pod_of(document: Document) -> Document:
    pod: Document = document["spec"]["template"]["spec"]
    return pod


def environment_of(container: Document) -> Document:
    """Return the variables by name: their value or its source."""
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container.get("env", [])}
