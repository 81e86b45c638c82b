"""The overlays as rendered by kustomize."""

from __future__ import annotations

import re

import kubernetes_validate
import pytest
from storecrawl.app import app
from storecrawl.roles.crawler import FETCHING_ROLES

from rolecall.config import read_settings
from rolecall.handoff.lanes import Band, Lane
from tests.deploy.manifests import (
    FOREIGN,
    OVERLAYS,
    Document,
    environment_of,
    named,
    needs_kubectl,
    of_kind,
    pod_of,
    rendered,
)

pytestmark = needs_kubectl

DIGEST = re.compile(r".+@sha256:[0-9a-f]{64}")
NAMESPACE = "dispensary-scraper"
ROLE_LABEL = "rolecall/role"
ROLES = sorted(app.roles)


def workers(overlay: str) -> list[Document]:
    sets = of_kind(rendered(overlay), "Deployment", "StatefulSet")
    return [each for each in sets if each["metadata"]["name"] != "rolecall-api"]


def role_of(document: Document) -> str:
    return str(document["spec"]["template"]["metadata"]["labels"][ROLE_LABEL])


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_document_is_valid_and_in_the_configured_namespace(overlay: str) -> None:
    for document in rendered(overlay):
        assert document["metadata"]["namespace"] == NAMESPACE
        if document["kind"] not in FOREIGN:
            kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_image_is_pinned_by_digest(overlay: str) -> None:
    for document in of_kind(rendered(overlay), "Deployment", "StatefulSet"):
        pod = pod_of(document)
        assert all(DIGEST.fullmatch(each["image"]) for each in [*pod["containers"], *pod.get("initContainers", [])])


@pytest.mark.parametrize("overlay", ["roles", "keda"])
def test_only_the_statistics_worker_uses_the_database_owner(overlay: str) -> None:
    keys = {
        role_of(each): environment_of(pod_of(each)["containers"][0])["DATABASE_URL"]["secretKeyRef"]["key"]
        for each in workers(overlay)
    }

    assert [role for role, key in keys.items() if key == "owner"] == ["analytics_refresh"]
    assert set(keys.values()) == {"owner", "work"}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_each_set_is_covered_by_a_network_policy(overlay: str) -> None:
    policies = [
        each["spec"]["podSelector"]["matchLabels"].items() for each in of_kind(rendered(overlay), "NetworkPolicy")
    ]

    for document in of_kind(rendered(overlay), "Deployment", "StatefulSet"):
        labels = document["spec"]["template"]["metadata"]["labels"].items()
        assert any(selected <= labels for selected in policies)


@pytest.mark.parametrize("overlay", ["roles", "keda"])
def test_each_role_of_the_crawler_has_a_deployment(overlay: str) -> None:
    assert sorted(map(role_of, workers(overlay))) == ROLES


def test_resyncs_have_five_workers() -> None:
    resync = named(workers("roles"), "task-worker-resync")

    assert (role_of(resync), resync["spec"]["replicas"]) == ("product_resync", 5)


@pytest.mark.parametrize("overlay", ["roles", "keda"])
def test_every_automatically_scaled_set_runs_crawl_roles(overlay: str) -> None:
    """The deployment that the API scales in one overlay, and KEDA in the other, fetches or normalizes menus."""
    scaled = [each["spec"]["scaleTargetRef"]["name"] for each in of_kind(rendered(overlay), "ScaledObject")]
    [settings] = of_kind(rendered(overlay), "ConfigMap")
    names = scaled or [read_settings(settings["data"]).scaling.workload]

    roles = {role_of(named(workers(overlay), name)) for name in names}

    assert "product_resync" in roles
    assert roles <= {*FETCHING_ROLES, "product_refresh"}


def test_stateful_set_serves_every_role_with_eight_pods_of_three_slots() -> None:
    [found] = workers("stateful")
    environment = environment_of(pod_of(found)["containers"][0])

    assert (found["kind"], found["metadata"]["name"]) == ("StatefulSet", "scraper-worker")
    assert (found["spec"]["replicas"], environment["ROLECALL_SLOTS"]) == (8, "3")
    assert "ROLECALL_ROLES" not in environment
    service = named(of_kind(rendered("stateful"), "Service"), found["spec"]["serviceName"])
    assert service["spec"]["clusterIP"] == "None"


@pytest.mark.parametrize("overlay", ["roles", "stateful"])
def test_configured_workload_exists_and_can_be_scaled(overlay: str) -> None:
    [settings] = of_kind(rendered(overlay), "ConfigMap")
    scaling = read_settings(settings["data"]).scaling
    [found] = [each for each in workers(overlay) if each["metadata"]["name"] == scaling.workload]
    role = named(of_kind(rendered(overlay), "Role"), "rolecall-scaler")

    assert found["kind"] == scaling.kind
    assert scaling.least <= found["spec"]["replicas"] <= scaling.most
    assert scaling.workload in role["rules"][0]["resourceNames"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_disruption_budget_prevents_draining_a_whole_set_at_once(overlay: str) -> None:
    budgets = [each["spec"]["selector"]["matchLabels"] for each in of_kind(rendered(overlay), "PodDisruptionBudget")]

    for document in of_kind(rendered(overlay), "Deployment", "StatefulSet"):
        assert document["spec"]["selector"]["matchLabels"] in budgets


def test_each_autoscaler_scales_a_deployment_by_its_own_roles_metric() -> None:
    scaled = of_kind(rendered("keda"), "ScaledObject")

    assert len(scaled) == 3
    for each in scaled:
        deployment = named(workers("keda"), each["spec"]["scaleTargetRef"]["name"])
        [trigger] = each["spec"]["triggers"]
        assert trigger["metadata"]["url"].endswith(f":8321/api/workers/k8s/target/{role_of(deployment)}")


def test_redis_autoscaler_reads_the_lanes_of_its_own_role() -> None:
    [scaled] = of_kind(rendered("keda-redis"), "ScaledObject")
    [deployment] = workers("keda-redis")
    lanes = [Lane(band, role_of(deployment)).key("stream") for band in (Band.HIGH, Band.LOW)]

    assert scaled["spec"]["scaleTargetRef"]["name"] == deployment["metadata"]["name"]
    assert [trigger["metadata"]["stream"] for trigger in scaled["spec"]["triggers"]] == lanes
    assert {each["authenticationRef"]["name"] for each in scaled["spec"]["triggers"]} == {"rolecall-redis"}
