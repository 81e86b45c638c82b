"""`rolecall worker --metrics` where the extra is not installed."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Run
from tests.extras import without_metrics

__all__ = ["without_metrics"]


@pytest.mark.usefixtures("without_metrics")
def test_worker_without_the_metrics_extra_explains_what_to_install(cli: Run) -> None:
    done = cli("worker", "--app", "shop:app", "--until-idle", "--metrics", "127.0.0.1:0")

    assert done.code == 2
    assert "pip install 'rolecall[metrics]'" in done.err
    assert "Traceback" not in done.err
