"""The manifests are valid and locked down, and use only variables and options that exist."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from storecrawl.settings import CrawlSettings

from rolecall import App
from rolecall.cli.probes import ALIVE, READY
from rolecall.config import read_settings
from rolecall.web.application import build
from tests.deploy.manifests import (
    FOREIGN,
    KUSTOMIZATION,
    OVERLAYS,
    ROOT,
    Document,
    documents,
    environment_of,
    named,
    of_kind,
    pod_of,
    put_together,
)

SETS = ("Deployment", "StatefulSet")
GRACE_BEYOND = 10


def sets() -> list[Document]:
    return of_kind(documents(), *SETS)


def name_of(document: Document) -> str:
    return f"{document['kind']}-{document['metadata']['name']}"


@pytest.mark.parametrize("document", [each for each in documents() if each["kind"] not in FOREIGN], ids=name_of)
def test_each_document_is_strictly_valid(document: Document) -> None:
    kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.parametrize("document", sets(), ids=name_of)
def test_pods_have_minimal_privileges(document: Document) -> None:
    pod = pod_of(document)

    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in [*pod["containers"], *pod.get("initContainers", [])]:
        context = container["securityContext"]
        assert context["readOnlyRootFilesystem"] is True
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}


def test_only_the_api_has_a_service_account_token() -> None:
    tokens = {each["metadata"]["name"]: pod_of(each)["automountServiceAccountToken"] for each in sets()}

    assert tokens == {"rolecall-api": True, "task-worker": False}
    assert all(each["automountServiceAccountToken"] is False for each in of_kind(documents(), "ServiceAccount"))


def test_migration_runs_as_the_owner_of_the_database() -> None:
    api, worker = pod_of(named(sets(), "rolecall-api")), pod_of(named(sets(), "task-worker"))
    containers = [*api["initContainers"], *api["containers"], *worker["containers"]]
    keys = {each["name"]: environment_of(each)["DATABASE_URL"]["secretKeyRef"]["key"] for each in containers}

    assert keys == {"migrate": "owner", "api": "operate", "worker": "work"}
    assert api["initContainers"][0]["command"] == ["storecrawl", "migrate", "--roles"]


def test_api_accepts_traffic_only_from_labelled_namespaces() -> None:
    policy = named(of_kind(documents(), "NetworkPolicy"), "rolecall-api")["spec"]

    [rule] = policy["ingress"]
    assert policy["podSelector"] == named(sets(), "rolecall-api")["spec"]["selector"]
    assert rule["from"] == [{"namespaceSelector": {"matchLabels": {"rolecall/may-ask": "true"}}}]
    assert rule["ports"] == [{"port": 8321}]


def test_workers_accept_no_traffic_and_cannot_reach_cloud_metadata() -> None:
    policy = named(of_kind(documents(), "NetworkPolicy"), "task-worker")["spec"]
    refused = [
        ip_network(part) for rule in policy["egress"] for to in rule.get("to", []) for part in to["ipBlock"]["except"]
    ]

    assert policy["podSelector"] == named(sets(), "task-worker")["spec"]["selector"]
    assert policy["ingress"] == []
    assert any(ip_address("169.254.169.254") in network for network in refused if network.version == 4)


def test_forwarded_headers_are_trusted_from_nobody_until_an_overlay_names_the_ingress() -> None:
    [settings] = of_kind(documents(), "ConfigMap")

    assert not read_settings(settings["data"]).access.forwarded_by


def test_termination_grace_period_of_a_worker_exceeds_that_of_its_tasks() -> None:
    pod = pod_of(named(sets(), "task-worker"))
    [container] = pod["containers"]
    grace = read_settings({"ROLECALL_GRACE": environment_of(container)["ROLECALL_GRACE"]}).worker.grace

    assert pod["terminationGracePeriodSeconds"] >= grace + GRACE_BEYOND


def test_scaling_permission_is_limited_to_the_replicas_of_two_sets() -> None:
    role = named(of_kind(documents(), "Role"), "rolecall-scaler")

    for rule in role["rules"]:
        assert set(rule["resourceNames"]) == {"scraper-worker", "task-worker-resync"}
        changes = set(rule["verbs"]) - {"get"}
        assert not changes or all(resource.endswith("/scale") for resource in rule["resources"])


def test_every_permission_on_workloads_names_the_configured_workload() -> None:
    [settings] = of_kind(documents(), "ConfigMap")
    rules = [rule for role in of_kind(documents(), "Role") for rule in role["rules"] if "apps" in rule["apiGroups"]]

    assert rules
    assert all(settings["data"]["ROLECALL_K8S_WORKLOAD"] in rule.get("resourceNames", []) for rule in rules)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_images_are_immutable(overlay: str) -> None:
    found = tuple(put_together(ROOT / "overlays" / overlay))
    rules = [rule for role in of_kind(found, "Role") for rule in role["rules"]]

    assert of_kind(found, *SETS)
    for rule in rules:
        assert set(rule["verbs"]) == {"get"} or all(each.endswith("/scale") for each in rule["resources"])


def test_second_role_is_that_of_older_clusters() -> None:
    role = named(of_kind(documents(), "Role"), "worker-scaler")
    binding = named(of_kind(documents(), "RoleBinding"), "scraper-worker-scaler")

    [rule] = role["rules"]
    assert (rule["apiGroups"], rule["resources"], rule["verbs"]) == (["apps"], ["statefulsets"], ["get", "patch"])
    assert binding["roleRef"]["name"] == "worker-scaler"


def test_config_map_settings_are_read_by_the_program() -> None:
    [settings] = of_kind(documents(), "ConfigMap")
    environment = Asked(settings["data"])

    scaling = read_settings(environment).scaling
    assert (scaling.namespace, scaling.workload) == ("dispensary-scraper", "scraper-worker")
    assert (scaling.kind, scaling.least, scaling.most) == ("StatefulSet", 1, 20)
    assert CrawlSettings.from_environment(environment).data_dir == Path("/data")
    assert environment.names >= set(settings["data"])


class Asked(UserDict[str, str]):
    """An environment that records which of its variables were read."""

    def __init__(self, given: dict[str, str]) -> None:
        super().__init__(given)
        self.names: set[str] = set()

    def get(self, name: str, default: object = None) -> Any:
        self.names.add(name)
        return self.data.get(name, default)


def test_every_api_probe_requests_an_existing_path() -> None:
    [container] = pod_of(named(sets(), "rolecall-api"))["containers"]
    paths = build("postgresql://", App("test")).openapi()["paths"]

    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["path"] in paths
    address = read_settings({"ROLECALL_HTTP": environment_of(container)["ROLECALL_HTTP"]}).http
    assert container["ports"] == [{"name": "http", "containerPort": address.port}]


def test_worker_probes_use_its_health_paths_and_restart_only_for_liveness() -> None:
    [container] = pod_of(named(sets(), "task-worker"))["containers"]
    _, port = read_settings({"ROLECALL_HEALTH": environment_of(container)["ROLECALL_HEALTH"]}).worker.health or ("", 0)

    assert container["ports"] == [{"name": "health", "containerPort": port}]
    assert container["livenessProbe"]["httpGet"] == {"path": ALIVE, "port": "health"}
    assert container["readinessProbe"]["httpGet"] == {"path": READY, "port": "health"}


def test_autoscaler_uses_the_specified_numbers() -> None:
    by_pool, by_redis = (each["spec"] for each in of_kind(documents(), "ScaledObject"))

    for spec in (by_pool, by_redis):
        assert (spec["minReplicaCount"], spec["maxReplicaCount"]) == (2, 20)
        assert (spec["pollingInterval"], spec["cooldownPeriod"]) == (2, 30)
    [trigger] = by_pool["triggers"]
    assert (trigger["metadata"]["targetValue"], trigger["metadata"]["valueLocation"]) == ("5", "target")
    assert [each["metadata"]["streamLength"] for each in by_redis["triggers"]] == ["5", "5"]


def test_no_manifest_contains_a_secret() -> None:
    assert of_kind(documents(), "Secret") == []


def kustomizations() -> Iterator[Path]:
    return ROOT.rglob(KUSTOMIZATION)


@pytest.mark.parametrize("file", sorted(kustomizations()), ids=lambda file: str(file.parent.relative_to(ROOT)))
def test_every_name_in_a_kustomization_exists(file: Path) -> None:
    document = yaml.safe_load(file.read_text())
    named_files = [*document.get("resources", []), *document.get("components", [])]
    named_files += [each["path"] for each in document.get("patches", []) if "path" in each]

    for name in named_files:
        target = (file.parent / name).resolve()
        assert target.is_file() or (target / KUSTOMIZATION).is_file(), name
    assert {each.name for each in file.parent.glob("*.yaml")} <= {KUSTOMIZATION, *named_files}
