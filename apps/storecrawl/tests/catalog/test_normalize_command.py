"""`storecrawl normalize FILE`: the report, its two forms, and the exit code."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest
from rich.console import Console
from storecrawl.cli.normalize import NormalizeReport, normalize_file, render, render_json

DOCUMENT = {
    "data": {
        "filteredProducts": {
            "products": [
                {
                    "_id": "a",
                    "Name": "Live Sugar [1g]",
                    "type": "Concentrate",
                    "Status": "Active",
                    "Options": ["1gC"],
                    "recPrices": [43],
                    "special": True,
                    "recSpecialPrices": [27.95],
                    "THCContent": {"unit": "PERCENTAGE", "range": [89.744]},
                    "manualInventory": [{"option": "1gC", "inventory": 3}],
                },
                {"_id": "b", "Options": ["1g"]},
            ],
            "queryInfo": {"totalCount": 814},
        }
    }
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    written = tmp_path / "menu.json"
    written.write_text(json.dumps(DOCUMENT))
    return written


def _print(report: NormalizeReport) -> str:
    console = Console(file=io.StringIO(), width=120)
    console.print(render(report))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_json_output_has_shape_counts_products_and_refusals(file: Path) -> None:
    code, report = normalize_file(file)
    answer = json.loads(render_json(report))

    assert (code, answer["shape"], answer["error"]) == (0, "graphql", None)
    assert answer["counts"] == {
        "records": 2,
        "products": 1,
        "variants": 1,
        "specials": 1,
        "refused": 1,
        "duplicates": 0,
        "total_count": 814,
        "left_out": 812,
        "complete": False,
    }
    [product] = answer["products"]
    assert (product["name"], product["thc"]) == (
        "Live Sugar [1g]",
        {"lo": 89.744, "hi": 89.744, "unit": "PERCENTAGE"},
    )
    [variant] = product["variants"]
    assert (variant["option"], variant["price_rec_cents"], variant["special_rec_cents"]) == (
        "1gC",
        4300,
        2795,
    )
    assert (variant["quantity"], variant["in_stock"], variant["weight"]) == (
        3,
        True,
        {"value": 1.0, "unit": "g"},
    )
    assert answer["refused"] == [{"index": 1, "external_id": "b", "option": None, "reason": "it has no name"}]


def test_text_output_shows_counts_prices_and_refusals(file: Path) -> None:
    text = _print(normalize_file(file)[1])

    for part in (
        "1 products of 814",
        "incomplete: 812 left out",
        "Live Sugar [1g]",
        "27.95 (was 43.00)",
        "89.744 %",
        "#1 b: it has no name",
    ):
        assert part in text


def test_gzipped_menu_is_read_directly(file: Path) -> None:
    packed = file.with_suffix(".json.gz")
    packed.write_bytes(gzip.compress(file.read_bytes()))

    assert normalize_file(packed)[1].products == normalize_file(file)[1].products


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        (b"name,price,brand\na,1,b\n", "looks like CSV"),
        (b"[]", "an empty list"),
        (b"", "empty"),
        (b'[{"variants": [{"promoPrice": 1, "unitSize": {}, "availableQty": 2}]}]', "another platform"),
        (gzip.compress(b"[1, 2, 3]", mtime=0)[:-9], "incomplete"),
        (gzip.compress(bytes(10_000_000), mtime=0), "decompresses to more than"),
    ],
)
def test_non_menu_file_exits_with_code_2_and_a_reason(tmp_path: Path, content: bytes, seen: str) -> None:
    written = tmp_path / "file"
    written.write_bytes(content)

    code, report = normalize_file(written)

    assert code == 2
    assert seen in json.loads(render_json(report))["error"]
    assert "not a menu" in _print(report)


def test_missing_file_or_folder_exits_with_code_2(tmp_path: Path) -> None:
    missing, folder = normalize_file(tmp_path / "none"), normalize_file(tmp_path)

    assert (missing[0], missing[1].error) == (2, "cannot be read: No such file or directory")
    assert (folder[0], folder[1].error) == (2, "cannot be read: Is a directory")
