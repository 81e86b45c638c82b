"""Scales a StatefulSet or a Deployment through the Kubernetes API.

Each call opens a client of its own: calls are rare, and a pod's token changes every hour.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec
from httpx2 import HTTPError, HTTPStatusError, Timeout
from lightkube import ApiError, AsyncClient
from lightkube.config.kubeconfig import KubeConfig
from lightkube.core.exceptions import ConfigError as CredentialsError
from lightkube.models.autoscaling_v1 import Scale
from lightkube.resources.apps_v1 import Deployment, DeploymentScale, StatefulSet, StatefulSetScale
from lightkube.resources.core_v1 import Pod
from lightkube.types import PatchType

from rolecall.config import ScalingSettings
from rolecall.model.errors import ClusterMissing, ClusterRefused, ClusterUnavailable, WorkloadNotFound
from rolecall.model.operator.scaling import Replicas, ScalingWay, WorkloadKind

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
FIELD_MANAGER = "rolecall"
PATIENCE = 5.0
NOT_FOUND = 404
DENIED = {401: "rejects our credentials and does not let us", 403: "does not let us"}

UNREADABLE = (msgspec.MsgspecError, ValueError, LookupError, TypeError, AttributeError)


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of workload: its API, its scale subresource, and their names in RBAC rules."""

    plural: str
    object: type[StatefulSet | Deployment]
    scale: type[StatefulSetScale | DeploymentScale]


RESOURCES = {
    WorkloadKind.STATEFUL_SET: Resource("statefulsets", StatefulSet, StatefulSetScale),
    WorkloadKind.DEPLOYMENT: Resource("deployments", Deployment, DeploymentScale),
}


class Kubernetes:
    """The configured workload, in the cluster of the kubeconfig or of this pod."""

    def __init__(self, settings: ScalingSettings) -> None:
        self._settings = settings
        self._resource = RESOURCES[settings.kind]
        # It logs each request at INFO, and a dashboard sends one every few seconds.
        logging.getLogger("httpx2").setLevel(logging.WARNING)

    async def read_replicas(self) -> Replicas:
        """Read the object, which contains the number of ready pods. If that is forbidden, read its scale."""
        async with _open(self._settings) as client:
            try:
                return await self._read_object(client)
            except ClusterRefused:
                return await self._read_scale(client)

    async def scale(self, replicas: int, *, rehearse: bool = False) -> ScalingWay:
        """Patch the scale subresource. If only the object may be patched, patch its `spec.replicas`."""
        async with _open(self._settings) as client:
            try:
                await self._patch(client, ScalingWay.SCALE, replicas, rehearse=rehearse)
            except ClusterRefused as refused:
                await self._patch_object(client, replicas, refused, rehearse=rehearse)
                return ScalingWay.OBJECT
            return ScalingWay.SCALE

    async def mark(self, costs: Mapping[str, int]) -> None:
        """Write the cost of each pod into its annotation. A Deployment deletes the cheapest first."""
        async with _open(self._settings) as client:
            for pod, cost in costs.items():
                await self._mark(client, pod, cost)

    async def _read_object(self, client: AsyncClient) -> Replicas:
        with self._explain_errors(client, "get", self._resource.plural):
            found = await client.get(self._resource.object, self._settings.workload)
        status = found.status
        return self._replicas(
            client,
            current=(status and status.replicas) or 0,
            # The API server fills in 1 if a manifest does not set it.
            desired=1 if found.spec.replicas is None else found.spec.replicas,
            ready=(status and status.readyReplicas) or 0,
        )

    async def _read_scale(self, client: AsyncClient) -> Replicas:
        with self._explain_errors(client, "get", f"{self._resource.plural}/scale"):
            found: Scale = await client.get(self._resource.scale, self._settings.workload)
        current = found.status.replicas if found.status else 0
        desired = found.spec.replicas if found.spec else None
        return self._replicas(client, current=current, desired=desired or 0, ready=None)

    def _replicas(self, client: AsyncClient, *, current: int, desired: int, ready: int | None) -> Replicas:
        known = self._settings
        return Replicas(
            kind=known.kind,
            namespace=client.namespace,
            name=known.workload,
            current=current,
            desired=desired,
            ready=ready,
            least=known.least,
            most=known.most,
        )

    async def _patch_object(
        self, client: AsyncClient, replicas: int, refused: ClusterRefused, *, rehearse: bool
    ) -> None:
        try:
            await self._patch(client, ScalingWay.OBJECT, replicas, rehearse=rehearse)
        except ClusterRefused:
            # RBAC roles should grant the subresource, so the error names that permission.
            raise refused from None

    async def _patch(self, client: AsyncClient, way: ScalingWay, replicas: int, *, rehearse: bool) -> None:
        by_scale = way is ScalingWay.SCALE
        target = self._resource.scale if by_scale else self._resource.object
        body = {"spec": {"replicas": replicas}}
        plural = self._resource.plural
        with self._explain_errors(client, "patch", f"{plural}/scale" if by_scale else plural):
            await client.patch(target, self._settings.workload, body, patch_type=PatchType.MERGE, dry_run=rehearse)

    async def _mark(self, client: AsyncClient, pod: str, cost: int) -> None:
        body = {"metadata": {"annotations": {DELETION_COST: str(cost)}}}
        try:
            with self._explain_errors(client, "patch", "pods"):
                await client.patch(Pod, pod, body, patch_type=PatchType.MERGE)
        except WorkloadNotFound:
            return

    @contextmanager
    def _explain_errors(self, client: AsyncClient, verb: str, resource: str) -> Iterator[None]:
        """Convert errors of the client, naming the missing permission."""
        name, namespace = self._settings.workload, client.namespace
        try:
            yield
        except HTTPStatusError as error:
            status = error.response.status_code
            if status in DENIED:
                problem = f"the cluster {DENIED[status]} {verb} {resource} in namespace {namespace!r}"
                raise ClusterRefused(problem, verb=verb, resource=resource) from error
            if status == NOT_FOUND:
                kind = self._settings.kind
                raise WorkloadNotFound(f"the cluster has no {kind} {name!r} in namespace {namespace!r}") from error
            reason = error.status.message if isinstance(error, ApiError) else error.response.reason_phrase
            raise ClusterUnavailable(f"the cluster answered {status} to {verb} {resource}: {reason}") from error
        except UNREADABLE as error:
            problem = f"the answer to {verb} {resource} is not from Kubernetes ({type(error).__name__})"
            raise ClusterUnavailable(problem) from error
        except (HTTPError, CredentialsError) as error:
            raise ClusterUnavailable(f"the cluster does not answer: {str(error) or type(error).__name__}") from error


def _open(settings: ScalingSettings) -> AsyncClient:
    """Connect. Raises ClusterMissing for invalid credentials, without their content."""
    try:
        return AsyncClient(
            config=_credentials(settings),
            namespace=settings.namespace,
            timeout=Timeout(PATIENCE),
            field_manager=FIELD_MANAGER,
        )
    except Exception as error:
        place = f"KUBECONFIG {str(settings.kubeconfig)!r}" if settings.kubeconfig else "the token of this pod"
        raise ClusterMissing(f"no cluster to scale: {place} cannot be read ({type(error).__name__})") from error


def _credentials(settings: ScalingSettings) -> KubeConfig:
    if settings.kubeconfig is not None:
        return KubeConfig.from_file(settings.kubeconfig)
    return KubeConfig.from_service_account()
