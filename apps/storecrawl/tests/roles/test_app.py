"""Declarations of the app: roles, timeouts and schedules."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from storecrawl.app import build_app
from storecrawl.settings import CrawlSettings

from rolecall import ConfigError


def test_every_role_of_the_crawl_has_a_handler() -> None:
    roles = {handler.name: handler.role for handler in build_app(CrawlSettings()).handlers.values()}

    assert roles == {
        "analytics_refresh": "analytics_refresh",
        "collect_changes": "analytics_refresh",
        "count_stores": "analytics_refresh",
        "discover_city": "store_discovery",
        "discover_state": "store_discovery",
        "image_fetch": "image_fetch",
        "orphan_sweep": "storage_upkeep",
        "payload_expiry": "storage_upkeep",
        "entry_point_discovery": "entry_point_discovery",
        "lake_update": "lake",
        "map_stores": "analytics_refresh",
        "merge_statistics": "analytics_refresh",
        "payload_fetch": "payload_fetch",
        "payload_fetch_all": "payload_fetch",
        "product_discovery": "product_discovery",
        "product_refresh": "product_refresh",
        "product_resync": "product_resync",
        "refresh_views": "analytics_refresh",
        "store_discovery": "store_discovery",
        "write_lake_day": "lake",
    }


def test_only_one_task_of_a_store_is_claimed_across_all_roles() -> None:
    assert {role.strict_keys for role in build_app(CrawlSettings()).roles.values()} == {True}


def test_default_schedules_fetch_discover_and_analyze() -> None:
    schedules = build_app(CrawlSettings()).schedules.values()

    assert {(schedule.name, timedelta(seconds=schedule.every or 0), schedule.priority) for schedule in schedules} == {
        ("payload_fetch_all", timedelta(hours=4), 0),
        ("store_discovery_dutchie", timedelta(hours=24), 5),
        ("analytics_refresh", timedelta(hours=6), 0),
        ("orphan_sweep", timedelta(hours=24), 0),
    }


def test_no_schedule_accumulates_tasks_behind_a_long_round() -> None:
    schedules = build_app(CrawlSettings(keep_days=30, lake=True)).schedules

    assert {name: schedule.overlap for name, schedule in schedules.items()} == dict.fromkeys(
        (
            "payload_fetch_all",
            "store_discovery_dutchie",
            "analytics_refresh",
            "orphan_sweep",
            "payload_expiry",
            "lake_update",
        ),
        "skip",
    )


def test_payloads_expire_by_schedule_if_a_policy_is_set() -> None:
    assert "payload_expiry" in build_app(CrawlSettings(keep_days=30, lake=True)).schedules


def test_first_crawl_fetches_within_its_own_task(crawled: Any) -> None:
    assert crawled.value("select count(*) from rolecall.all_tasks where handler = 'payload_fetch'") == 0
    fetchers = "select distinct handler from rolecall.all_tasks t join storecrawl.payloads p on p.task_id = t.id"
    assert crawled.rows(fetchers) == [("product_discovery",)]


def test_settings_survive_a_round_trip_through_the_environment() -> None:
    settings = CrawlSettings(
        upstream="http://127.0.0.1:9",
        data_dir=Path("x"),
        states=("AZ", "CO"),
        schedules=False,
        menus_path="/api-4/graphql",
        hashes=(f"FilteredProducts={'a' * 64}", f"FilteredProducts={'b' * 64}"),
    )

    assert CrawlSettings.from_environment(settings.to_environment()) == settings


def test_hashes_are_configured_per_operation_in_the_order_of_use() -> None:
    products, stores = [f"FilteredProducts={digit * 64}" for digit in "ab"], f"ConsumerDispensaries={'c' * 64}"

    settings = CrawlSettings.from_environment({"STORECRAWL_HASHES": f"{products[0]}, {stores},{products[1]}"})

    assert settings.hashes_by_operation == {
        "FilteredProducts": ("a" * 64, "b" * 64),
        "ConsumerDispensaries": ("c" * 64,),
    }


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("STORECRAWL_UPSTREAM", "ftp://example.org"),
        ("STORECRAWL_FETCH_EVERY", "soon"),
        ("STORECRAWL_FETCH_EVERY", "nan"),
        ("STORECRAWL_FETCH_BATCHES", "0"),
        ("STORECRAWL_BACKOFF", "-1"),
        ("STORECRAWL_SCHEDULES", "perhaps"),
        ("STORECRAWL_MENUS_PATH", "graphql?x=1"),
        ("STORECRAWL_HASHES", "FilteredProducts=ee29"),
        ("STORECRAWL_HASHES", f"Unheard={'a' * 64}"),
    ],
)
def test_invalid_setting_is_rejected_by_name(variable: str, value: str) -> None:
    with pytest.raises(ConfigError, match=variable):
        CrawlSettings.from_environment({variable: value})
