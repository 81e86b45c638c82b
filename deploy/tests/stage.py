"""A namespace with the project's manifests, the API, and a substitute kubelet that runs the pods as workers."""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import yaml
from lightkube import AsyncClient
from lightkube.codecs import load_all_yaml
from lightkube.config.kubeconfig import KubeConfig
from lightkube.models.authentication_v1 import TokenRequestSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import ConfigMap, Namespace, Pod, Secret, ServiceAccount, ServiceAccountToken
from psycopg.types.json import Jsonb

from deploy.tests.control_plane import ControlPlane, find_kubectl, free_port
from deploy.tests.kubelet import Kubelet, node_environment

ROOT = Path(__file__).resolve().parents[2]
OVERLAYS = ROOT / "deploy" / "kubernetes" / "overlays"
PATIENCE = 30.0
# Kubernetes 1.20 has neither, and neither creates a pod.
LEFT_OUT = {"PodDisruptionBudget", "PersistentVolumeClaim"}
ROLE = "product_resync"

Document = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """The deployed system, as tests observe and control it."""

    plane: ControlPlane
    namespace: str
    client: AsyncClient
    kubelet: Kubelet
    database: psycopg.Connection[Any]
    settings: dict[str, str]
    gate: Path

    def enqueue(self, number: int) -> None:
        """Enqueue tasks that run until the gate is opened."""
        self.rows("select rolecall.enqueue_many(%s)", Jsonb([{"handler": "pass_the_gate"}] * number))

    def rows(self, query: str, *params: object) -> list[tuple[Any, ...]]:
        return self.database.execute(query.encode(), params or None).fetchall()

    def running(self) -> dict[str, int]:
        """Return how many tasks run in each pod."""
        return dict(self.rows("select pod, running from rolecall.pods_at_work('') where running > 0"))

    def workers(self) -> set[str]:
        """Return the pods whose workers are registered."""
        return {pod for (pod,) in self.rows("select pod from rolecall.pods_at_work('')")}

    def leaving(self) -> set[str]:
        """Return the pods whose workers have received the decommission command, or have left."""
        query = "select pod from rolecall.all_workers where following = 'decommission' or stopped_at is not null"
        return {pod for (pod,) in self.rows(query)}

    def tasks(self) -> list[tuple[str, int, str | None]]:
        """Return each task's state, its spent attempts, and the pod that completed it."""
        return self.rows("select state::text, attempt, result #>> '{}' from rolecall.all_tasks order by id")

    async def pods(self) -> dict[str, Any]:
        """Return all pods by name."""
        found: list[Any] = [pod async for pod in self.client.list(Pod)]
        return {pod.metadata.name: pod for pod in found}

    async def until(self, fact: Callable[[], object], what: str) -> None:
        """Wait for a condition. Raises AssertionError if it does not become true."""
        give_up = time.monotonic() + PATIENCE
        while not fact():
            assert time.monotonic() < give_up, f"not within {PATIENCE:.0f} s: {what}; tasks: {self.tasks()}"
            await asyncio.sleep(0.05)
        say(what)

    async def until_pods(self, names: set[str], what: str) -> None:
        give_up = time.monotonic() + PATIENCE
        while set(await self.pods()) != names:
            assert time.monotonic() < give_up, f"not within {PATIENCE:.0f} s: {what}; pods: {set(await self.pods())}"
            await asyncio.sleep(0.1)
        say(what)

    async def account(self, name: str) -> Path:
        """Return the credentials of a service account, with a token from the cluster itself."""
        token = ServiceAccountToken(metadata=ObjectMeta(), spec=TokenRequestSpec(audiences=[], expirationSeconds=3600))
        made: Any = await self.client.create(token, name)
        return self.plane.kubeconfig(f"{self.namespace}-{name}", made.status.token)

    async def add_account(self, name: str) -> Path:
        await self.client.create(ServiceAccount(metadata=ObjectMeta(name=name)))
        return await self.account(name)

    @asynccontextmanager
    async def api(self, credentials: Path) -> AsyncIterator[httpx2.AsyncClient]:
        """Serve the API in a separate process, with these credentials."""
        url = f"127.0.0.1:{free_port()}"
        token = self.kubelet.folder / "local-token"
        own = {"KUBECONFIG": str(credentials), "ROLECALL_HTTP": url, "ROLECALL_TOKEN_FILE": str(token)}
        environ = os.environ | self.settings | own
        with _process(["serve", "--app", "deploy.tests.program:app"], environ, self.kubelet.folder / "api.log"):
            async with httpx2.AsyncClient(base_url=f"http://{url}", timeout=30) as http:
                await _until_ready(http)
                http.headers["authorization"] = f"Bearer {token.read_text().strip()}"
                yield http


@asynccontextmanager
async def open_stage(
    plane: ControlPlane, dsn: str, folder: Path, overlay: str, components: Sequence[str] = ()
) -> AsyncIterator[Stage]:
    """Apply an overlay to a new namespace, with one replica of each set and the tests' program."""
    namespace = f"{overlay}-{secrets.token_hex(4)}"
    credentials = KubeConfig.from_file(plane.kubeconfig("admin", plane.admin_token))
    async with AsyncClient(credentials, namespace=namespace) as client:
        settings = await _apply(client, dsn, namespace, rendered(overlay, components))
        gate = folder / "gate"
        kubelet = Kubelet(client=client, folder=folder, environ=node_environment(PYTHONPATH=str(ROOT), GATE=str(gate)))
        with _tending(kubelet), psycopg.connect(dsn, autocommit=True) as database:
            yield Stage(
                plane=plane,
                namespace=namespace,
                client=client,
                kubelet=kubelet,
                database=database,
                settings={**settings, "DATABASE_URL": dsn, "PYTHONPATH": str(ROOT)},
                gate=gate,
            )


async def _apply(client: AsyncClient, dsn: str, namespace: str, documents: Sequence[Document]) -> dict[str, str]:
    await client.create(Namespace(metadata=ObjectMeta(name=namespace)))
    await client.create(
        Secret(
            metadata=ObjectMeta(name="rolecall-database"), stringData=dict.fromkeys(("owner", "operate", "work"), dsn)
        )
    )
    settings: dict[str, str] = {}
    for document in documents:
        thing: Any
        [thing] = load_all_yaml(yaml.safe_dump(fitted(document, namespace)))
        created: Any = await client.create(thing)
        if isinstance(thing, ConfigMap):
            settings = created.data
    return settings


@contextmanager
def _tending(kubelet: Kubelet) -> Iterator[None]:
    tending = asyncio.create_task(kubelet.run())
    try:
        yield
    finally:
        kubelet.stop()
        if tending.done():
            tending.result()
        tending.cancel()


def rendered(overlay: str, components: Sequence[str]) -> list[Document]:
    """Return the documents that kustomize renders for an overlay, optionally with other components."""
    command = [find_kubectl(), "kustomize", str(OVERLAYS / overlay)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    documents = [each for each in yaml.safe_load_all(text) if each["kind"] not in LEFT_OUT]
    if components:
        documents = [each for each in documents if each["kind"] not in {"Role", "RoleBinding"}]
        for component in components:
            file = ROOT / "deploy" / "kubernetes" / "components" / component / "role.yaml"
            documents += list(yaml.safe_load_all(file.read_text()))
    return documents


def fitted(document: Document, namespace: str) -> Document:
    """Adapt a document: the test's namespace, and for workers one replica, the test's program, and shorter timeouts."""
    document["metadata"]["namespace"] = namespace
    for subject in document.get("subjects", []):
        subject["namespace"] = namespace
    if document["kind"] == "ConfigMap":
        document["data"]["ROLECALL_K8S_NAMESPACE"] = namespace
    if document["kind"] in {"StatefulSet", "Deployment"}:
        _fit_set(document)
    return document


def _fit_set(document: Document) -> None:
    is_scaled = document["metadata"]["name"] in {"scraper-worker", "task-worker-resync"}
    document["spec"]["replicas"] = 1 if is_scaled else 0
    pod = document["spec"]["template"]["spec"]
    pod["terminationGracePeriodSeconds"] = 20
    [container] = pod["containers"]
    container["args"] = ["worker", "--app", "deploy.tests.program:app"]
    for variable in container["env"]:
        if variable["name"] == "ROLECALL_GRACE":
            variable["value"] = "5"
        if variable["name"] == "ROLECALL_HEALTH":
            # All pods are processes of one machine here.
            variable["value"] = "127.0.0.1:0"


@contextmanager
def _process(arguments: Sequence[str], environ: dict[str, str], log: Path) -> Iterator[None]:
    with log.open("ab") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "rolecall", *arguments], env=environ, stdout=file, stderr=file
        )
    try:
        yield
    finally:
        process.terminate()
        process.wait(20)


async def _until_ready(http: httpx2.AsyncClient) -> None:
    give_up = time.monotonic() + PATIENCE
    while True:
        try:
            if (await http.get("/readyz")).status_code == 200:
                return
        except httpx2.TransportError:
            assert time.monotonic() < give_up, "the API did not become ready"
        await asyncio.sleep(0.1)


def say(what: str) -> None:
    print(f"    {time.strftime('%H:%M:%S')} {what}", flush=True)
