"""`storecrawl reader`: a login that can read the tables and nothing else."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from storecrawl.cli import run

from rolecall import EmbeddedServer

TABLES = ("products", "captured_variants", "catalog_changes", "price_history_by_day")


def test_reader_of_the_embedded_database_reads_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with EmbeddedServer(tmp_path):
        addresses = []
        for _ in range(2):
            assert run(["reader", "--data-dir", str(tmp_path)]) == 0
            addresses.append(capsys.readouterr().out.strip())

        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(addresses[0])
        with psycopg.connect(addresses[1], autocommit=True) as reader:
            for table in TABLES:
                reader.execute(f"select * from storecrawl.{table}".encode())
            for table in ("routes", "webhooks"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    reader.execute(f"select * from storecrawl.{table}".encode())
            reader.execute("set default_transaction_read_only = off")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                reader.execute("delete from storecrawl.products")


def test_login_with_other_rights_is_not_changed(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", database)

    assert run(["reader", "--name", "rolecall_superuser"]) == 2
