"""`storecrawl duckdb` and `storecrawl export`, and the error without their packages."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import duckdb
import pytest
from storecrawl.cli import run
from storecrawl.lake import extra

from apps.storecrawl.tests.lake.conftest import Lake

CHEAPEST = "select external_id, min(price_cents) as cents from prices group by 1 order by 1"


def test_command_prints_a_result_as_json_and_csv(written: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["duckdb", "--data-dir", str(written.folder), "-c", CHEAPEST, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0] == {"external_id": "a", "cents": 2500}

    assert run(["duckdb", "--data-dir", str(written.folder), "-c", CHEAPEST, "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == ["external_id,cents", "a,2500"]


def test_empty_lake_has_views_without_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["duckdb", "--data-dir", str(tmp_path), "-c", "from products", "--format", "json"]) == 0

    assert capsys.readouterr().out == "[]\n"


def test_error_in_a_query_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["duckdb", "--data-dir", str(tmp_path), "-c", "select nothing from prices"]) == 2

    assert 'Referenced column "nothing" not found' in capsys.readouterr().err


def test_missing_package_is_reported_with_the_command_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(extra, "PACKAGES", ("no_such_package",))

    assert run(["duckdb", "-c", "select 1"]) == 2

    assert (
        "needs the extra `lake` (no_such_package is missing): pip install 'storecrawl[lake]'" in capsys.readouterr().err
    )


def test_exported_parquet_and_csv_have_the_same_prices(two_days: int, database: str, tmp_path: Path) -> None:
    for kind in ("parquet", "csv"):
        file = str(tmp_path / f"prices.{kind}")
        assert run(["export", "prices", "--format", kind, "--output", file, "--database-url", database]) == 0

    with duckdb.connect() as files:
        parquet = files.execute(f"from '{tmp_path}/prices.parquet' order by all").fetchall()
        text = files.execute(f"from read_csv('{tmp_path}/prices.csv', header = true) order by all").fetchall()
    assert len(parquet) == 7
    assert parquet == text


def test_export_of_a_day_has_only_its_rows(
    two_days: int, database: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    span = ["--since", "2026-05-02", "--until", "2026-05-02", "--state", "AZ", "--store", str(two_days)]
    assert run(["export", "prices", *span, "--database-url", database]) == 0

    rows = list(csv.DictReader(io.StringIO(capfdbinary.readouterr().out.decode())))
    assert [(row["external_id"], row["option"], row["in_stock"]) for row in rows] == [
        ("a", "1g", "true"),
        ("c", "1g", "true"),
        ("c", "2g", "true"),
    ]
    assert {row["last_observed_at"] for row in rows} == {"2026-05-02 01:00:00+00"}


def test_failed_export_leaves_no_file(database: str, tmp_path: Path) -> None:
    earlier = tmp_path / "products.csv"
    earlier.write_text("earlier")

    code = run(["export", "products", "--output", str(earlier), "--database-url", f"{database[:-1]}_missing"])

    assert code == 6
    assert [file.name for file in tmp_path.iterdir()] == ["products.csv"]
    assert earlier.read_text() == "earlier"
