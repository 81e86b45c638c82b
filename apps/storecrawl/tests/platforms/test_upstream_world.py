"""The generated world is the same for the same seed, and changes with time."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from statistics import median
from typing import Any

import msgspec
import pytest
from storecrawl.demo.upstream.clock import SimulatedClock, epoch_text
from storecrawl.demo.upstream.directory import StoreDirectory
from storecrawl.demo.upstream.menus import MenuCache
from storecrawl.demo.upstream.options import UpstreamOptions
from storecrawl.demo.upstream.stores import WorldStore

OPTIONS = UpstreamOptions(stores=300, seed=5)
STORES = StoreDirectory(OPTIONS).open_until(0)
BIG = next(store for store in STORES if 500 <= store.menu_size <= 700)


def menu_bytes(options: UpstreamOptions, store: WorldStore, step: int) -> list[bytes]:
    return [entry.full for entry in MenuCache(options).menu(store, step)]


def documents(store: WorldStore, step: int) -> dict[str, dict[str, Any]]:
    return {
        document["_id"]: document
        for document in (msgspec.json.decode(entry.full) for entry in MenuCache(OPTIONS).menu(store, step))
    }


def test_same_seed_produces_the_same_bytes() -> None:
    assert menu_bytes(OPTIONS, BIG, 3) == menu_bytes(OPTIONS, BIG, 3)


def test_different_seed_produces_a_different_menu() -> None:
    assert not set(menu_bytes(OPTIONS, BIG, 3)) & set(menu_bytes(replace(OPTIONS, seed=6), BIG, 3))


def test_different_seed_produces_different_stores() -> None:
    others = StoreDirectory(replace(OPTIONS, seed=6)).open_until(0)

    assert not {store.id for store in STORES} & {store.id for store in others}


def test_store_does_not_depend_on_the_number_of_stores() -> None:
    few = StoreDirectory(replace(OPTIONS, stores=5, new_stores_per_step=1)).open_until(0)

    assert few == STORES[:5]


def test_stores_are_the_same_whether_time_advances_stepwise_or_at_once() -> None:
    walked, jumped = StoreDirectory(OPTIONS), StoreDirectory(OPTIONS)
    for step in range(6):
        walked.open_until(step)

    assert walked.open_until(6) == jumped.open_until(6)


def test_most_products_remain_after_one_step() -> None:
    before, after = documents(BIG, 0), documents(BIG, 1)

    assert len(before.keys() & after.keys()) > 0.95 * len(before)


@pytest.mark.parametrize("field", ["Prices", "special", "manualInventory"])
def test_prices_specials_and_stock_change_over_a_week(field: str) -> None:
    store = next(s for s in STORES if s.menu_size > 400 and s.habits.stock_source == "manual")
    before, after = documents(store, 0), documents(store, 42)
    common_keys = before.keys() & after.keys()

    assert any(before[key][field] != after[key][field] for key in common_keys)
    assert any(before[key]["Prices"] == after[key]["Prices"] for key in common_keys)


def test_stock_moves_within_one_step_but_most_prices_do_not() -> None:
    store = next(s for s in STORES if s.menu_size > 400 and s.habits.stock_source == "manual")
    before, after = documents(store, 0), documents(store, 1)
    common_keys = before.keys() & after.keys()
    moved = Counter(
        field
        for key in common_keys
        for field in ("manualInventory", "Prices")
        if before[key][field] != after[key][field]
    )

    assert moved["manualInventory"] > 0.2 * len(common_keys)
    assert 0 < moved["Prices"] < 0.1 * len(common_keys)


def test_products_vanish_and_new_ones_appear_over_a_week() -> None:
    before, after = documents(BIG, 0), documents(BIG, 42)

    assert len(before.keys() - after.keys()) > 0.05 * len(before)
    assert len(after.keys() - before.keys()) > 0.05 * len(before)


def test_product_can_be_missing_for_one_step_and_return() -> None:
    menus = [documents(BIG, step).keys() for step in range(8)]

    assert any((before & after) - between for before, between, after in zip(menus, menus[1:], menus[2:], strict=False))


def test_new_product_was_created_after_the_old_menu() -> None:
    before, after = documents(BIG, 0), documents(BIG, 42)
    new = [document for key, document in after.items() if key not in before]

    assert any(int(document["createdAt"]) >= int(epoch_text(0)) for document in new)


def test_menu_sizes_have_a_realistic_distribution() -> None:
    sizes = [store.menu_size for store in STORES]

    assert min(sizes) >= OPTIONS.menu_smallest
    assert max(sizes) <= OPTIONS.menu_largest
    assert 300 < median(sizes) < 460
    assert sum(size > 800 for size in sizes) > 10
    assert sum(size < 100 for size in sizes) > 5


def test_stores_of_a_chain_share_a_third_of_their_products() -> None:
    chain = Counter(store.chain for store in STORES if store.chain is not None).most_common(1)[0][0]
    first, second = [s for s in STORES if s.chain == chain and s.menu_size > 250][:2]

    def pairs(store: WorldStore) -> set[tuple[str, str]]:
        return {(d["Name"], d["Options"][0]) for d in documents(store, 0).values()}

    shared = len(pairs(first) & pairs(second)) / min(first.menu_size, second.menu_size)
    assert 0.2 < shared < 0.45


def test_products_shared_within_a_chain_have_their_own_ids_per_store() -> None:
    chain = Counter(store.chain for store in STORES if store.chain is not None).most_common(1)[0][0]
    first, second = [s for s in STORES if s.chain == chain][:2]

    assert not documents(first, 0).keys() & documents(second, 0).keys()


def test_simulated_time_follows_the_wall_clock_from_its_epoch() -> None:
    assert SimulatedClock(step_seconds=1_000_000.0, epoch=0.0).step >= 1_700


def test_simulated_time_stands_still_without_step_seconds() -> None:
    clock = SimulatedClock(step_seconds=0.0, epoch=0.0)

    assert (clock.step, clock.advance(4), clock.step) == (0, 4, 4)


def test_simulated_time_does_not_go_backwards() -> None:
    with pytest.raises(ValueError, match="cannot go back"):
        SimulatedClock(step_seconds=0.0, epoch=None).advance(-1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"stores": 0},
        {"step_seconds": -1.0},
        {"menu_median": 5},
        {"cached_menus": 0},
        {"new_stores_per_step": -1.0},
    ],
)
def test_invalid_settings_are_rejected(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong)).split("_")[0]):
        UpstreamOptions(**wrong)


def test_small_changing_share_leaves_most_of_a_menu_unchanged() -> None:
    options = replace(OPTIONS, changing_share=0.02)

    before, after = (menu_bytes(options, BIG, step) for step in (2, 3))

    changed = len(set(after) - set(before)) / len(after)
    assert 0 < changed < 0.06


def test_changing_share_of_zero_changes_nothing() -> None:
    options = replace(OPTIONS, changing_share=0.0)

    assert menu_bytes(options, BIG, 40) == menu_bytes(options, BIG, 0)
