"""The profiles of requests."""

from __future__ import annotations

import msgspec
import pytest
from storecrawl.egress import load_profiles
from storecrawl.egress.profiles import contradictions

CHROME = next(profile for profile in load_profiles() if profile.name == "chrome-141-windows")
CONTRADICTIONS = [
    {"accept_language": "de-DE"},
    {"sec_ch_ua_platform": "macOS"},
    {"sec_ch_ua_platform": "Plan 9"},
    {"sec_ch_ua_mobile": "?1"},
    {"sec_ch_ua_mobile": None},
    {"sec_ch_ua": '"Chromium";v="99", "Google Chrome";v="99"'},
    {"sec_ch_ua": '"Chromium";v="141", "Microsoft Edge";v="141"'},
    {"sec_ch_ua": '"Google Chrome";v="141"'},
    {"user_agent": CHROME.user_agent + " Edg/141.0.0.0"},
    {"sec_ch_ua": None, "sec_ch_ua_mobile": None, "sec_ch_ua_platform": None},
]


def test_twelve_profiles_are_consistent() -> None:
    profiles = load_profiles()

    assert len({profile.name for profile in profiles}) == len({profile.user_agent for profile in profiles}) == 12
    assert [each for profile in profiles for each in contradictions(profile)] == []


def test_all_profiles_use_the_same_language() -> None:
    assert {profile.headers["Accept-Language"] for profile in load_profiles()} == {"en-US,en;q=0.9"}


@pytest.mark.parametrize("change", CONTRADICTIONS)
def test_contradictory_headers_are_found(change: dict[str, str | None]) -> None:
    assert contradictions(msgspec.structs.replace(CHROME, **change))


def test_non_chromium_browser_sends_no_client_hints() -> None:
    firefox = next(profile for profile in load_profiles() if profile.name.startswith("firefox"))

    assert set(firefox.headers) == {"User-Agent", "Accept-Language"}
