"""Declarations of the app: roles, timeouts and schedules."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from storecrawl.app import build_app
from storecrawl.platforms.dutchie.platform import read_hashes
from storecrawl.platforms.settings import PlatformSettings
from storecrawl.settings import CrawlSettings

from rolecall import ConfigError

URL = "http://127.0.0.1:9"
DUTCHIE = {"dutchie": PlatformSettings(upstream=URL)}


def test_every_role_of_the_crawl_has_a_handler() -> None:
    roles = {handler.name: handler.role for handler in build_app(CrawlSettings()).handlers.values()}

    assert roles == {
        "analytics_refresh": "analytics_refresh",
        "collect_changes": "analytics_refresh",
        "count_stores": "analytics_refresh",
        "discover_city": "store_discovery",
        "discover_state": "store_discovery",
        "history_upkeep": "storage_upkeep",
        "image_fetch": "image_fetch",
        "change_expiry": "storage_upkeep",
        "orphan_sweep": "storage_upkeep",
        "payload_expiry": "storage_upkeep",
        "entry_point_discovery": "entry_point_discovery",
        "lake_update": "lake",
        "map_stores": "analytics_refresh",
        "post_changes": "webhooks",
        "watch_quality": "webhooks",
        "merge_statistics": "analytics_refresh",
        "payload_fetch": "payload_fetch",
        "payload_fetch_all": "payload_fetch",
        "product_discovery": "product_discovery",
        "product_refresh": "product_refresh",
        "product_resync": "product_resync",
        "refresh_views": "analytics_refresh",
        "renormalize": "product_refresh",
        "renormalize_store": "product_refresh",
        "store_discovery": "store_discovery",
        "write_lake_day": "lake",
    }


def test_only_one_task_of_a_store_is_claimed_across_all_roles() -> None:
    assert {role.strict_keys for role in build_app(CrawlSettings()).roles.values()} == {True}


def test_default_schedules_fetch_discover_and_analyze() -> None:
    schedules = build_app(CrawlSettings(platforms=DUTCHIE)).schedules.values()

    assert {(schedule.name, timedelta(seconds=schedule.every or 0), schedule.priority) for schedule in schedules} == {
        ("payload_fetch_all_dutchie", timedelta(hours=4), 0),
        ("store_discovery_dutchie", timedelta(hours=24), 5),
        ("analytics_refresh", timedelta(hours=6), 0),
        ("orphan_sweep", timedelta(hours=24), 0),
        ("history_upkeep", timedelta(hours=24), 0),
        ("payload_expiry", timedelta(hours=24), 0),
        ("change_expiry", timedelta(hours=24), 0),
        ("watch_quality", timedelta(minutes=5), 0),
    }


def test_no_schedule_accumulates_tasks_behind_a_long_round() -> None:
    schedules = build_app(CrawlSettings(platforms=DUTCHIE, lake=True)).schedules

    assert {schedule.overlap for schedule in schedules.values()} == {"skip"}


def test_first_crawl_fetches_within_its_own_task(crawled: Any) -> None:
    assert crawled.value("select count(*) from rolecall.all_tasks where handler = 'payload_fetch'") == 0
    fetchers = "select distinct handler from rolecall.all_tasks t join storecrawl.payloads p on p.task_id = t.id"
    assert crawled.rows(fetchers) == [("product_discovery",)]


def test_settings_survive_a_round_trip_through_the_environment() -> None:
    settings = CrawlSettings(
        platforms={
            "dutchie": PlatformSettings(
                upstream="http://127.0.0.1:9",
                own={"menus_path": "/api-4/graphql"},
                overrides={"states": ("CO",), "fetch_every": 60.0, "host_rate": 3.0},
            )
        },
        data_dir=Path("x"),
        states=("AZ", "CO"),
        schedules=False,
    )

    assert CrawlSettings.from_environment(settings.to_environment()) == settings


def test_hashes_are_configured_per_operation_in_the_order_of_use() -> None:
    products, stores = [f"FilteredProducts={digit * 64}" for digit in "ab"], f"ConsumerDispensaries={'c' * 64}"

    assert read_hashes(f"{products[0]}, {stores},{products[1]}") == {
        "FilteredProducts": ("a" * 64, "b" * 64),
        "ConsumerDispensaries": ("c" * 64,),
    }


def test_platform_has_other_values_of_general_settings() -> None:
    environment = {"STORECRAWL_DUTCHIE_UPSTREAM": URL, "STORECRAWL_DUTCHIE_FETCH_EVERY": "60"}

    settings = CrawlSettings.from_environment({**environment, "STORECRAWL_FETCH_EVERY": "90"})

    assert (settings.of("dutchie").fetch_every, settings.fetch_every) == (60.0, 90.0)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("STORECRAWL_DUTCHIE_UPSTREAM", "ftp://example.org"),
        ("STORECRAWL_FETCH_EVERY", "soon"),
        ("STORECRAWL_FETCH_EVERY", "nan"),
        ("STORECRAWL_FETCH_BATCHES", "0"),
        ("STORECRAWL_BACKOFF", "-1"),
        ("STORECRAWL_SCHEDULES", "perhaps"),
        ("STORECRAWL_DUTCHIE_MENUS_PATH", "graphql?x=1"),
        ("STORECRAWL_DUTCHIE_HOST_RATE", "0"),
        ("STORECRAWL_DUTCHIE_HASHES", "FilteredProducts=ee29"),
        ("STORECRAWL_DUTCHIE_HASHES", f"Unheard={'a' * 64}"),
    ],
)
def test_invalid_setting_is_rejected_by_name(variable: str, value: str) -> None:
    with pytest.raises(ConfigError, match=variable):
        CrawlSettings.from_environment({"STORECRAWL_DUTCHIE_UPSTREAM": URL, variable: value})
