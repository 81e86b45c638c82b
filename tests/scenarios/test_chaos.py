from __future__ import annotations

from pathlib import Path

import pytest

from rolecall.embedded.binaries import VARIABLE
from tests.scenarios.chaos.soak import DEFAULTS, Options, soak
from tools import servers


@pytest.mark.timeout(800)
def test_no_fault_loses_duplicates_or_mixes_up_a_task(tmp_path: Path) -> None:
    report = soak(Options(seed=DEFAULTS.seed), tmp_path)

    assert report.violations == []
    assert report.missing == [], "the faults did not bite, so nothing was proved"


@pytest.mark.timeout(600)
def test_no_fault_loses_duplicates_or_mixes_up_a_task_on_debians_postgres(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = servers.find()
    if found is None:
        pytest.skip("Debian's Postgres is not installed: run ./dev servers")
    monkeypatch.setenv(VARIABLE, str(found.postgres))
    report = soak(Options(seconds=8, required={"tasks": 100, "worker deaths": 2, "crash": 1}, severs=False), tmp_path)

    assert report.violations == []
    assert report.missing == [], "the faults did not bite, so nothing was proved"
