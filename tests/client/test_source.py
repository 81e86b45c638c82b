from __future__ import annotations

from pathlib import Path

import pytest

from rolecall.client.source import Source
from rolecall.db.connect import connect
from rolecall.db.migrator import check


def test_default_database_is_the_embedded_server_with_a_schema(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("ROLECALL_DATA_DIR", str(tmp_path / "data"))
    source = Source(None)

    dsn = source.attach()
    try:
        with connect(dsn, "test") as connection:
            check(connection)
    finally:
        source.detach()
        source.detach()


def test_explicit_dsn_overrides_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "host=elsewhere")

    assert Source("host=here").attach() == "host=here"
    assert Source(None).attach() == "host=elsewhere"


@pytest.mark.parametrize(("given", "named", "pooled"), [(None, "yes", True), (False, "yes", False), (None, "", None)])
def test_pooler_is_configured_by_the_caller_or_else_by_the_environment(
    monkeypatch: pytest.MonkeyPatch, given: bool | None, named: str, pooled: bool | None
) -> None:
    monkeypatch.setenv("ROLECALL_POOLED", named)

    assert Source("host=here", pooled=given).pooled() is pooled
