"""Request profiles: the consistent headers of one browser, read from profiles.json."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib import resources

import msgspec

LANGUAGE = "en-US,en;q=0.9"
# The User-Agent's name of a platform by that in the client hint.
SYSTEMS = {"Windows": "Windows NT 10.0", "macOS": "Macintosh; Intel Mac OS X 10_15_7", "Linux": "X11; Linux x86_64"}
PRODUCTS = {"Google Chrome": "Chrome", "Microsoft Edge": "Edg"}
BRAND = re.compile(r'"([^"]+)";v="(\d+)"')


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One browser. Only Chromium browsers send client hints; the others have no platform."""

    name: str
    user_agent: str
    sec_ch_ua: str | None = None
    sec_ch_ua_platform: str | None = None
    sec_ch_ua_mobile: str | None = None
    accept_language: str = LANGUAGE

    @property
    def headers(self) -> dict[str, str]:
        hints = {
            "sec-ch-ua": self.sec_ch_ua,
            "sec-ch-ua-mobile": self.sec_ch_ua_mobile,
            "sec-ch-ua-platform": self.sec_ch_ua_platform and f'"{self.sec_ch_ua_platform}"',
        }
        stated = {name: value for name, value in hints.items() if value is not None}
        return {"User-Agent": self.user_agent, "Accept-Language": self.accept_language, **stated}


@cache
def load_profiles() -> tuple[Profile, ...]:
    """Read the profiles of the package. Raises ValueError for one that contradicts itself."""
    text = resources.files("storecrawl.egress").joinpath("profiles.json").read_bytes()
    profiles = msgspec.json.decode(text, type=tuple[Profile, ...])
    if problems := [f"{each.name}: {problem}" for each in profiles for problem in contradictions(each)]:
        raise ValueError(f"profiles.json: {'; '.join(problems)}")
    return profiles


def contradictions(profile: Profile) -> Sequence[str]:
    """Return the contradictions between a profile's headers. A usable profile has none."""
    language = [] if profile.accept_language == LANGUAGE else [f"its language is {profile.accept_language!r}"]
    hints = (profile.sec_ch_ua, profile.sec_ch_ua_platform, profile.sec_ch_ua_mobile)
    if not any(hints):
        return [*language, *(["Chromium sends client hints"] if "Chrome/" in profile.user_agent else [])]
    if not all(hints):
        return [*language, "some client hints are missing"]
    return [*language, *_platform_problems(profile), *_brand_problems(profile)]


def _platform_problems(profile: Profile) -> list[str]:
    system = SYSTEMS.get(profile.sec_ch_ua_platform or "")
    if system is None or f"({system})" not in profile.user_agent.replace("; Win64; x64", ""):
        return [f"the User-Agent does not match {profile.sec_ch_ua_platform}"]
    return [] if profile.sec_ch_ua_mobile == "?0" else ["a desktop is not mobile"]


def _brand_problems(profile: Profile) -> list[str]:
    brands = dict(BRAND.findall(profile.sec_ch_ua or ""))
    named = {brand: version for brand, version in brands.items() if brand in PRODUCTS}
    if len(named) != 1 or "Chromium" not in brands:
        return ["the client hints name no single browser on Chromium"]
    tokens = [("Chrome", brands["Chromium"]), *((PRODUCTS[brand], version) for brand, version in named.items())]
    missing = [
        f"{product}/{version}" for product, version in tokens if f"{product}/{version}." not in profile.user_agent
    ]
    is_edge = "Edg/" in profile.user_agent
    return (
        [f"the User-Agent lacks {', '.join(missing)}"]
        if missing
        else ([] if is_edge == ("Microsoft Edge" in named) else ["the client hints hide Edge"])
    )
