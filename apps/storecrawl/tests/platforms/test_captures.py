"""Every captured menu is read with the expected counts, or refused in one sentence."""

from __future__ import annotations

import pytest
from storecrawl.cli.normalize import normalize_file

from apps.storecrawl.tests.menu_samples import captured_file

READ = {
    "graphql-filteredproducts-ethos-harmar-2025-11.json": ("graphql", 25, 25, 7, 814),
    "plus-mpxnj-edibles-page1-2025-06.json": ("plus", 20, 20, 6, 101),
    "joint-cuzzies-2025-06.json": ("joint", 226, 226, 226, None),
    "legacy-dutchie-exercise-2019.json": ("legacy", 3, 7, 0, None),
    "foreign-dispense-indigo-sample-b-2025-06.json": ("dispense", 20, 20, 6, None),
    "foreign-weedmaps-score420-part-2024-04.json": ("weedmaps", 60, 60, 0, 453),
    "foreign-jane-maitri-sample-2025-11.json": ("jane", 30, 39, 25, None),
}
"""For each file its form, products, options, products on special, and the count that it claims."""
REFUSED = {
    "flat-mpxnj-2025-06.csv": (738, "a flat list of 738 rows"),
    "flat-quincy-dom-2025-09.jsonl": (8, "several documents, one per line"),
    "flat-trulieve-squirrel-hill-2025-11.csv": (1170, "a flat list of 1170 rows"),
    "foreign-sweed-curaleaf-sample-2025-06.json": (40, "another platform (Sweed)"),
    "stores-dutchie-slugs-on-ca-bc.json": (271, "no product of a known form"),
    "stores-ontario-sites-a.json": (794, "no product of a known form"),
    "stores-oregon-ids-2021.json": (38, "no product of a known form"),
}


@pytest.mark.parametrize("name", READ)
def test_capture_is_read_completely(name: str) -> None:
    form, products, options, specials, claimed = READ[name]

    code, report = normalize_file(captured_file(name))

    counts = report.counts
    assert (code, report.shape, report.refused, counts.duplicates) == (0, form, (), 0)
    assert (counts.products, counts.variants, counts.specials, counts.total_count) == (
        products, options, specials, claimed,
    )  # fmt: skip
    assert all(
        variant.price_rec_cents or variant.price_med_cents for each in report.products for variant in each.variants
    )


@pytest.mark.parametrize("name", REFUSED)
def test_capture_without_a_menu_is_refused_in_one_sentence(name: str) -> None:
    records, reason = REFUSED[name]

    code, report = normalize_file(captured_file(name))

    assert (code, report.counts.refused, report.products) == (2, records, ())
    assert reason in (report.error or "")
    assert "\n" not in (report.error or "")
