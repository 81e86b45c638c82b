"""Workers of real sets, created by real controllers and scaled by the API under the project's RBAC."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from lightkube.models.authorization_v1 import ResourceAttributes, SubjectAccessReviewSpec
from lightkube.resources.authorization_v1 import SubjectAccessReview

from deploy.tests.control_plane import ControlPlane
from deploy.tests.stage import Stage, open_stage, say
from rolecall.service.kubernetes import DELETION_COST

SCALE = "/api/workers/k8s/scale"
REPLICAS = "/api/workers/k8s/replicas"
FIRST, SECOND, THIRD = (f"scraper-worker-{ordinal}" for ordinal in range(3))
SLOTS = 3


@pytest.fixture
async def stage(plane: ControlPlane, database: str, tmp_path: Path) -> AsyncIterator[Stage]:
    """The StatefulSet, and an API account with access to the scale subresource only."""
    async with open_stage(plane, database, tmp_path, "stateful") as stage:
        yield stage


@pytest.fixture
async def old_stage(plane: ControlPlane, database: str, tmp_path: Path) -> AsyncIterator[Stage]:
    """The same with a Role that has access to the object only."""
    async with open_stage(plane, database, tmp_path, "stateful", ["scale-by-object"]) as stage:
        yield stage


@pytest.fixture
async def deployed(plane: ControlPlane, database: str, tmp_path: Path) -> AsyncIterator[Stage]:
    """A Deployment for each role; the one for resyncs has a pod."""
    async with open_stage(plane, database, tmp_path, "roles") as stage:
        yield stage


async def is_allowed(stage: Stage, account: str, verb: str, resource: str, subresource: str | None = None) -> bool:
    """Query the permissions of an account, as `kubectl auth can-i` does."""
    asked = ResourceAttributes(
        group="apps" if resource != "pods" else "",
        resource=resource,
        subresource=subresource,
        verb=verb,
        name="scraper-worker",
        namespace=stage.namespace,
    )
    user = f"system:serviceaccount:{stage.namespace}:{account}"
    review = SubjectAccessReview(spec=SubjectAccessReviewSpec(user=user, resourceAttributes=asked))
    answered: Any = await stage.client.create(review)
    return bool(answered.status.allowed)


async def test_scaled_up_workers_register_with_their_pods_names_and_do_the_work(stage: Stage) -> None:
    async with stage.api(await stage.account("rolecall-api")) as http:
        await stage.until(lambda: stage.workers() == {FIRST}, f"one worker is registered: {FIRST}")
        stage.enqueue(3 * SLOTS)

        answer = (await http.post(SCALE, json={"replicas": 3})).json()

        say(f"POST {SCALE} 3: {answer}")
        assert (answer["previous"], answer["desired"], answer["way"]) == (1, 3, "scale")
        await stage.until(lambda: stage.workers() == {FIRST, SECOND, THIRD}, "three workers are registered")
        await stage.until(
            lambda: stage.running() == {FIRST: SLOTS, SECOND: SLOTS, THIRD: SLOTS}, f"each pod runs {SLOTS} tasks"
        )
        found = (await http.get(REPLICAS)).json()
        say(f"GET {REPLICAS}: {found}")
        assert (found["current"], found["desired"], found["ready"]) == (3, 3, 3)
        stage.gate.touch()
        await stage.until(lambda: all(state == "completed" for state, _, _ in stage.tasks()), "all 9 are completed")
        assert {pod for _, _, pod in stage.tasks()} == {FIRST, SECOND, THIRD}


async def test_scaled_in_pods_finish_what_they_run_and_nothing_is_lost(stage: Stage) -> None:
    async with stage.api(await stage.account("rolecall-api")) as http:
        await http.post(SCALE, json={"replicas": 3})
        stage.enqueue(5 * SLOTS)
        await stage.until(lambda: sum(stage.running().values()) == 3 * SLOTS, "three pods run 9 tasks, 6 wait")

        answer = (await http.post(SCALE, json={"replicas": 1})).json()

        say(f"POST {SCALE} 1: {answer}")
        assert answer["leaving"] == [THIRD, SECOND]
        assert len(answer["decommissioned"]) == 2
        await stage.until(lambda: stage.leaving() == {THIRD, SECOND}, "their workers claim no more tasks")
        stage.gate.touch()
        await stage.until_pods({FIRST}, "two pods are gone")
        await stage.until(lambda: all(state == "completed" for state, _, _ in stage.tasks()), "all 15 are completed")
        assert [attempt for _, attempt, _ in stage.tasks()] == [1] * 15
        done = Counter(pod for _, _, pod in stage.tasks())
        say(f"completed by pod: {dict(done)}")
        assert done == {FIRST: 3 * SLOTS, SECOND: SLOTS, THIRD: SLOTS}
        assert stage.kubelet.killed == []


async def test_what_does_not_end_in_time_is_given_back_with_its_attempt(stage: Stage) -> None:
    async with stage.api(await stage.account("rolecall-api")) as http:
        await http.post(SCALE, json={"replicas": 3})
        stage.enqueue(3 * SLOTS)
        await stage.until(lambda: len(stage.running()) == 3, "three pods run tasks")

        await http.post(SCALE, json={"replicas": 1})

        await stage.until_pods({FIRST}, "two pods are gone, with the gate still closed")
        given_back = [(state, attempt) for state, attempt, _ in stage.tasks() if state == "pending"]
        say(f"given back, as (state, attempts spent): {given_back}")
        assert given_back == [("pending", 0)] * 2 * SLOTS
        stage.gate.touch()
        await stage.until(lambda: all(state == "completed" for state, _, _ in stage.tasks()), "all 9 are completed")
        assert [attempt for _, attempt, _ in stage.tasks()] == [1] * 9
        assert stage.kubelet.killed == []


async def test_our_role_lets_the_api_change_the_number_and_nothing_else(stage: Stage) -> None:
    account = "rolecall-api"

    assert await is_allowed(stage, account, "patch", "statefulsets", "scale")
    assert await is_allowed(stage, account, "get", "statefulsets")
    assert not await is_allowed(stage, account, "patch", "statefulsets")
    assert not await is_allowed(stage, account, "delete", "statefulsets")
    assert not await is_allowed(stage, account, "patch", "pods")
    assert not await is_allowed(stage, "rolecall-worker", "get", "statefulsets", "scale")
    await stage.until_pods({FIRST}, "there is a pod")
    pod = (await stage.pods())[FIRST]
    assert pod.spec.automountServiceAccountToken is False
    assert all(volume.secret is None for volume in pod.spec.volumes)


async def test_where_only_the_object_may_be_patched_that_is_done(old_stage: Stage) -> None:
    assert not await is_allowed(old_stage, "rolecall-api", "patch", "statefulsets", "scale")
    async with old_stage.api(await old_stage.account("rolecall-api")) as http:
        answer = (await http.post(SCALE, json={"replicas": 2})).json()

        say(f"POST {SCALE} 2: {answer}")
        assert answer["way"] == "object"
        await old_stage.until(lambda: old_stage.workers() == {FIRST, SECOND}, "two workers are registered")


async def test_without_permission_the_answer_names_it_and_nobody_is_sent_away(stage: Stage) -> None:
    async with stage.api(await stage.add_account("stranger")) as http:
        await stage.until(lambda: stage.workers() == {FIRST}, "one worker is registered")

        for response in (await http.get(REPLICAS), await http.post(SCALE, json={"replicas": 3})):
            say(
                f"{response.request.method} {response.request.url.path}: {response.status_code} {response.json()['detail']}"
            )
            assert response.status_code == 403
            assert response.json()["type"] == "urn:rolecall:cluster-refused"
    async with stage.api(stage.plane.kubeconfig("nobody", "no-such-token")) as http:
        response = await http.get(REPLICAS)
        say(f"with a token that nobody issued: {response.status_code} {response.json()['detail']}")
        assert response.status_code == 403
    assert set(await stage.pods()) == {FIRST}


async def test_pods_of_a_deployment_are_marked_with_what_they_would_lose(deployed: Stage) -> None:
    async with deployed.api(await deployed.account("rolecall-api")) as http:
        await http.post(SCALE, json={"replicas": 3})
        await deployed.until(lambda: len(deployed.workers()) == 3, "three workers are registered")
        deployed.enqueue(1)
        await deployed.until(lambda: len(deployed.running()) == 1, "one of them runs a task")
        [busy] = deployed.running()
        pods = set(await deployed.pods())

        answer = (await http.post(SCALE, json={"replicas": 2})).json()

        say(f"POST {SCALE} 2: {answer}")
        [leaving] = answer["leaving"]
        assert leaving in pods - {busy}
        assert answer["unmarked"] is None
        marks = await marks_of(deployed)
        say(f"marks: {marks}")
        assert marks[busy] == "1"
        deployed.gate.touch()
        await deployed.until(lambda: deployed.tasks()[0][0] == "completed", "the task is completed")
        assert deployed.tasks()[0][1] == 1
        await deployed.until(lambda: len(deployed.workers()) == 2, "two workers are registered, whichever pod went")


async def marks_of(stage: Stage) -> dict[str, str]:
    pods = await stage.pods()
    return {name: (pod.metadata.annotations or {}).get(DELETION_COST, "") for name, pod in pods.items()}
