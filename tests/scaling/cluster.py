"""A cluster over real HTTP: kmock's emulator, extended with the permissions of a role and with dry runs."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp.web
import kmock
from kmock import KubernetesEmulator, KubernetesObjectNotFoundError, Server

from rolecall.config import ScalingSettings
from rolecall.model.operator.scaling import WorkloadKind

NAMESPACE = "crawling"
NAME = "rolecall-worker"
PLURALS = {WorkloadKind.STATEFUL_SET: "statefulsets", WorkloadKind.DEPLOYMENT: "deployments"}
VERBS = {"GET": "get", "PATCH": "patch", "PUT": "update"}


class Emulator(KubernetesEmulator):
    """Rejects the requests in `denied`, such as `patch statefulsets/scale`, and does not store dry runs."""

    def __init__(self) -> None:
        super().__init__()
        self.denied: set[str] = set()
        self.answer: tuple[int, str] | None = None
        self.calls: list[str] = []

    async def _handle(self, request: kmock.Request) -> aiohttp.web.StreamResponse:
        resource = "/".join(filter(None, [request.resource.plural if request.resource else "", request.subresource]))
        call = f"{VERBS[str(request.method.value if request.method else '')]} {resource}"
        rehearsal = "dryRun" in (request.params or {})
        self.calls.append(f"{call} (rehearsal)" if rehearsal else call)
        if self.answer is not None:
            return aiohttp.web.Response(status=self.answer[0], text=self.answer[1], content_type="text/html")
        if call in self.denied:
            status = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": f"User cannot {call}"}
            return aiohttp.web.json_response(status, status=403)
        if rehearsal:
            return await self._rehearse(request)
        return await super()._handle(request)

    async def _rehearse(self, request: kmock.Request) -> aiohttp.web.StreamResponse:
        key = (request.resource or "", request.namespace, request.name or "")
        if key not in self.objects:
            raise KubernetesObjectNotFoundError
        return aiohttp.web.json_response(self.objects[key].raw)


@dataclass(frozen=True, slots=True)
class Cluster:
    """The emulator with one set of pods, and settings that point to it."""

    emulator: Emulator
    settings: ScalingSettings
    pods: list[str] = field(default_factory=list)

    @property
    def desired(self) -> int:
        number: int = self._object(PLURALS[self.settings.kind], NAME)["spec"]["replicas"]
        return number

    @property
    def calls(self) -> list[str]:
        return self.emulator.calls

    def deny(self, *calls: str) -> None:
        self.emulator.denied.update(calls)

    def answer(self, status: int, text: str) -> None:
        """Answer every further request like this, as a server that is not Kubernetes."""
        self.emulator.answer = (status, text)

    def forget_the_set(self) -> None:
        del self.emulator.objects[kmock.resource("apps", "v1", PLURALS[self.settings.kind]), NAMESPACE, NAME]

    def add_pods(self, *names: str) -> None:
        for name in names:
            self.emulator.objects[kmock.resource("", "v1", "pods"), NAMESPACE, name] = {
                "metadata": {"name": name, "namespace": NAMESPACE}
            }
            self.pods.append(name)

    def costs(self) -> dict[str, str]:
        """Return the pods' deletion costs, by name."""
        annotations = {name: self._object("pods", name)["metadata"].get("annotations", {}) for name in self.pods}
        return {name: next(iter(each.values())) for name, each in annotations.items() if each}

    def _object(self, plural: str, name: str) -> Any:
        group = "" if plural == "pods" else "apps"
        return self.emulator.objects[kmock.resource(group, "v1", plural), NAMESPACE, name].raw


@asynccontextmanager
async def running_cluster(folder: Path, kind: WorkloadKind, replicas: int) -> AsyncIterator[Cluster]:
    emulator = Emulator()
    async with emulator, Server(emulator) as server:
        file = folder / "kubeconfig"
        file.write_text(kubeconfig(str(server.url)))
        emulator.objects[kmock.resource("apps", "v1", PLURALS[kind]), NAMESPACE, NAME] = {
            "metadata": {"name": NAME, "namespace": NAMESPACE},
            "spec": {"replicas": replicas, "selector": {}, "serviceName": NAME, "template": {}},
            "status": {"replicas": replicas, "readyReplicas": replicas - 1},
        }
        yield Cluster(emulator, ScalingSettings(namespace=NAMESPACE, kind=kind, most=8, kubeconfig=file))


def kubeconfig(server: str, token: str = "t") -> str:  # noqa: S107 - no secret
    """Write a kubeconfig with one context. JSON is valid YAML."""
    return json.dumps(
        {
            "clusters": [{"name": "c", "cluster": {"server": server}}],
            "users": [{"name": "u", "user": {"token": token}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
    )
