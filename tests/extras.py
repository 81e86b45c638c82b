"""An extra of the package that is not installed."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture
def without_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    for ours in ("prometheus", "pool_metrics"):
        monkeypatch.delitem(sys.modules, f"rolecall.telemetry.{ours}", raising=False)
