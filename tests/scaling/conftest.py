"""A cluster with a StatefulSet, or a Deployment, of four pods of which three are ready."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rolecall.model.operator.scaling import WorkloadKind
from rolecall.service.scaler import Scaler, scaler_for
from tests.scaling.cluster import Cluster, running_cluster


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    async with running_cluster(tmp_path, WorkloadKind.STATEFUL_SET, 4) as cluster:
        yield cluster


@pytest.fixture
async def deployed(tmp_path: Path) -> AsyncIterator[Cluster]:
    async with running_cluster(tmp_path, WorkloadKind.DEPLOYMENT, 4) as cluster:
        yield cluster


@pytest.fixture
def scaler(cluster: Cluster) -> Scaler:
    return scaler_for(cluster.settings)
