"""Commands that read the crawl data and enqueue tasks in a configured database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest
from storecrawl.cli import run

from .conftest import Shop


@pytest.fixture
def shop(connection: psycopg.Connection[Any], tmp_path: Path) -> Shop:
    return Shop(connection, tmp_path / "payloads")


@pytest.fixture
def run_command(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    monkeypatch.setenv("DATABASE_URL", database)

    def words(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run([*arguments, "--data-dir", str(tmp_path)])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return words


def test_payloads_are_listed_and_shown(shop: Shop, run_command: Any) -> None:
    mine, other = shop.stores(2)
    ids = [shop.payload(store, {}, hour=hour) for hour, store in enumerate((mine, other, mine))]

    listed = json.loads(run_command("payloads", "list", "--store", str(mine), "--json")[1])
    shown = json.loads(run_command("payloads", "show", str(ids[1]), "--json")[1])

    assert [payload["id"] for payload in listed] == [ids[2], ids[0]]
    assert (shown["store_id"], shown["storage_path"][-9:]) == (other, ".json.zst")
    assert "products" in run_command("payloads", "list")[1]
    assert "sha256" in run_command("payloads", "show", str(ids[0]))[1]


def test_diff_is_shown(shop: Shop, run_command: Any) -> None:
    store = shop.store()
    usual = {"_id": "a", "Name": "Sun", "Status": "Active", "Options": ["1g"]}
    for hour, price in enumerate((20, 18)):
        shop.payload(store, {"data": {"filteredProducts": {"products": [{**usual, "recPrices": [price]}]}}}, hour=hour)

    answer = json.loads(run_command("payloads", "diff", str(store), "--json")[1])
    code, words, _ = run_command("payloads", "diff", str(store))

    [change] = answer["price_changes"]
    assert (change["before"], change["after"], answer["added"]) == (2000, 1800, [])
    assert (code, "price changes" in words, "1800" in words) == (0, True, True)


def test_resync_is_generated_once_a_day(shop: Shop, run_command: Any) -> None:
    shop.stores(4)

    first = json.loads(run_command("generate", "resync", "--batches", "2", "--json")[1])
    second = run_command("generate", "resync", "--batches", "2")

    assert (first["stored"], first["standing"], len(shop.tasks("product_resync"))) == (4, 0, 4)
    assert second == (0, f"{first['date']}: 0 tasks stored, 4 already existed\n", "")


def test_invalid_command_prints_one_clear_line(shop: Shop, run_command: Any) -> None:
    store = shop.store()
    payload = shop.payload(store, {"no": "menu"}, hour=1)
    gone = shop.payload(store, {"no": "menu"}, hour=2)
    shop.file_of(gone).unlink()

    for words, code in {
        ("payloads", "show", "404"): 1,
        ("payloads", "diff", "404"): 1,
        ("payloads", "diff", str(store)): 1,
        ("payloads", "diff", str(store), "--from", str(payload), "--to", str(payload)): 1,
        ("generate", "resync", "--date", "soon"): 2,
        ("generate", "resync", "--date", "2020-01-01"): 2,
    }.items():
        answer = run_command(*words)
        assert (answer[0], answer[1]) == (code, ""), words
        assert answer[2].startswith("storecrawl: "), words
        assert answer[2].count("\n") == 1


def test_locations_can_be_listed_verified_and_rejected(shop: Shop, run_command: Any) -> None:
    sun, moon = shop.location(name="Sun"), shop.location(name="Moon")

    outputs = [
        run_command("discovery", "verify", str(sun))[1],
        run_command("discovery", "reject", str(moon), "--because", "closed")[1],
    ]
    refused = run_command("discovery", "verify", str(moon))
    listed = json.loads(run_command("discovery", "locations", "--status", "rejected", "--json")[1])

    assert outputs == [f"location {sun} is store 1 now\n", f"location {moon} is rejected\n"]
    assert (refused[0], f"location {moon} is rejected: it cannot be verified" in refused[2]) == (1, True)
    assert [(each["id"], each["because"]) for each in listed] == [(moon, "closed")]
    assert [task["payload"] for task in shop.tasks("product_discovery")] == [{"store_id": 1}]
    assert "Sun" in run_command("discovery", "locations")[1]
    assert "AZ" in run_command("discovery", "states")[1]


def test_dark_stores_are_listed(shop: Shop, run_command: Any) -> None:
    dark, _ = shop.store(name="Sun", dark_since="2026-05-01 10:00 UTC"), shop.store(name="Moon")

    listed = run_command("stores", "list", "--dark")[1]

    assert ("Sun" in listed, "Moon" in listed, "2026-05-01" in listed) == (True, False, True)
    assert json.loads(run_command("stores", "show", str(dark), "--json")[1])["name"] == "Sun"


def test_store_discovery_can_be_requested(shop: Shop, run_command: Any) -> None:
    assert run_command("discovery", "run", "az")[0] == 0

    assert [task["payload"] for task in shop.tasks("store_discovery")] == [{"states": ["AZ"]}]


def test_external_text_is_escaped(
    shop: Shop, run_command: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = "[/red]\x1b]0;PWNED\x07"
    shop.location(name=hostile, city=hostile), shop.city(name="Mesa", failures=1, error=hostile, failed_at="2026-05-01")
    store = shop.store(name=hostile)
    usual = {"_id": "a", "Name": f"Sun {hostile}", "Status": "Active", "Options": ["1g"], "recPrices": [20]}
    for hour, products in enumerate(([usual], [{**usual, "_id": f"b{hostile}"}, {"_id": "c", "Options": 7}])):
        shop.payload(store, {"data": {"filteredProducts": {"products": products}}}, hour=hour)
    written = tmp_path / f"{hostile.replace('/', '')}.json"
    written.write_text(
        json.dumps({"data": {"filteredProducts": {"products": [usual, {**usual, "_id": 7, "Name": ""}]}}})
    )

    outputs = [
        run_command("discovery", "locations"),
        run_command("discovery", "states"),
        run_command("stores", "list"),
        run_command("payloads", "list"),
        run_command("payloads", "diff", str(store)),
        run_command("payloads", "show", "1"),
    ]
    normalized = run(["normalize", str(written)])
    texts = "".join([*(out + error for _, out, error in outputs), capsys.readouterr().out])

    assert ([code for code, *_ in outputs], normalized) == ([0] * len(outputs), 0)
    assert "refused" in texts
    assert "[/red]" in texts
    assert [letter for letter in texts if not letter.isprintable() and letter != "\n"] == []
