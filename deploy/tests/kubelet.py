"""A substitute for the kubelet: runs each pod of a namespace as a process on this machine, with the pod's environment.

new pod ──► bind to a node ──► start `rolecall ...` ──► status: running, ready     (restarted if it exits)
deleted pod ──► SIGTERM ──► exit, or SIGKILL after the grace period ──► the pod is removed
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import time
from base64 import b64decode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from typing import Any

import msgspec
from lightkube import ApiError, AsyncClient
from lightkube.models.core_v1 import ObjectReference
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import ConfigMap, Pod, PodBinding, PodStatus, Secret
from lightkube.types import PatchType

NODE = "this-machine"
LABEL = re.compile(r"metadata\.labels\['(.+)'\]")
PERIOD = 0.1


@dataclass(slots=True, kw_only=True)
class Running:
    """A pod's process, the number of its starts, and the end of its grace period if it is being stopped."""

    pod: str
    process: Popen[bytes]
    starts: int = 1
    stop_by: float | None = None
    killed: bool = False


@dataclass(slots=True, kw_only=True)
class Kubelet:
    """Runs the pods of one namespace; `environ` is the environment that the node gives every process."""

    client: AsyncClient
    folder: Path
    environ: Mapping[str, str]
    running: dict[str, Running] = field(default_factory=dict)
    killed: list[str] = field(default_factory=list)

    async def run(self) -> None:
        while True:
            pods = [pod async for pod in self.client.list(Pod)]
            for pod in pods:
                await self._tend(pod)
            await asyncio.sleep(PERIOD)

    def stop(self) -> None:
        """Stop every remaining process."""
        for each in self.running.values():
            if each.process.poll() is None:
                each.process.kill()
            each.process.wait()

    async def _tend(self, pod: Any) -> None:
        try:
            if pod.metadata.deletionTimestamp is not None:
                await self._let_go(pod)
            elif not pod.spec.nodeName:
                await self._bind(pod)
            else:
                await self._keep_running(pod)
        except ApiError as error:
            if error.status.code != 404:
                raise

    async def _bind(self, pod: Any) -> None:
        name = pod.metadata.name
        target = ObjectReference(kind="Node", name=NODE)
        # The API server responds with a status, but the client expects the binding.
        with suppress(msgspec.ValidationError):
            await self.client.create(PodBinding(metadata=ObjectMeta(name=name), target=target), name)

    async def _keep_running(self, pod: Any) -> None:
        known = self.running.get(pod.metadata.uid)
        if known is not None and known.process.poll() is None:
            return
        process = await self._start(pod)
        if known is None:
            self.running[pod.metadata.uid] = Running(pod=pod.metadata.name, process=process)
        else:
            known.process, known.starts = process, known.starts + 1
        await self._tell_status(pod)

    async def _let_go(self, pod: Any) -> None:
        known = self.running.get(pod.metadata.uid)
        if known is not None and known.process.poll() is None:
            self._hurry(known, pod.metadata.deletionGracePeriodSeconds or 0)
            return
        await self.client.delete(Pod, pod.metadata.name, grace_period=0)

    def _hurry(self, known: Running, grace: float) -> None:
        if known.stop_by is None:
            known.stop_by = time.monotonic() + grace
            known.process.send_signal(signal.SIGTERM)
        elif time.monotonic() > known.stop_by and not known.killed:
            known.killed = True
            known.process.kill()
            self.killed.append(known.pod)

    async def _start(self, pod: Any) -> Popen[bytes]:
        container = pod.spec.containers[0]
        environ = {**self.environ, **await self._environment(pod, container)}
        with (self.folder / f"{pod.metadata.name}.log").open("ab") as log:
            command = [sys.executable, "-m", "rolecall", *(container.args or [])]
            return Popen(command, env=environ, stdout=log, stderr=log, cwd=self.folder)

    async def _tell_status(self, pod: Any) -> None:
        conditions = [{"type": kind, "status": "True"} for kind in ("PodScheduled", "Initialized", "Ready")]
        status = {"phase": "Running", "conditions": conditions}
        await self.client.patch(PodStatus, pod.metadata.name, {"status": status}, patch_type=PatchType.MERGE)

    async def _environment(self, pod: Any, container: Any) -> dict[str, str]:
        found: dict[str, str] = {}
        settings: Any
        for source in container.envFrom or []:
            settings = await self.client.get(ConfigMap, source.configMapRef.name)
            found.update(settings.data or {})
        for variable in container.env or []:
            found[variable.name] = await self._value(pod, variable)
        return found

    async def _value(self, pod: Any, variable: Any) -> str:
        source: Any = variable.valueFrom
        if source is None:
            return variable.value or ""
        if source.secretKeyRef is not None:
            secret: Any = await self.client.get(Secret, source.secretKeyRef.name)
            return b64decode((secret.data or {})[source.secretKeyRef.key]).decode()
        return _field(pod, source.fieldRef.fieldPath)


def _field(pod: Any, path: str) -> str:
    if label := LABEL.fullmatch(path):
        return str(pod.metadata.labels[label[1]])
    return str({"metadata.name": pod.metadata.name, "spec.nodeName": pod.spec.nodeName}[path])


def node_environment(**more: str) -> dict[str, str]:
    """Return the variables that a process gets besides its pod's own: from the tester's shell only the search paths."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "HOME", "LANG") if name in os.environ}
    return kept | more
