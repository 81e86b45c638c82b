from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tools.errors import SetupError
from tools.site import navigation

Seed = Callable[[str, str], None]

TWO_PARTS = """
[[part]]
title = "Start"
pages = ["index.md"]

[[part]]
title = "Guides"
[[part.part]]
title = "Keys"
pages = ["guides/keys.md"]
[[part.part]]
title = "More"
pages = ["guides/*.md"]
"""


@pytest.fixture
def root(tmp_path: Path, seed: Seed) -> Path:
    seed("docs/navigation.toml", TWO_PARTS)
    return tmp_path


def test_pattern_matches_pages_not_named_elsewhere(root: Path) -> None:
    [start, guides] = navigation.read(root, ["guides/rooms.md", "index.md", "guides/keys.md", "guides/live.md"])

    assert start.as_entry() == {"Start": ["index.md"]}
    assert guides.as_entry() == {
        "Guides": [{"Keys": ["guides/keys.md"]}, {"More": ["guides/live.md", "guides/rooms.md"]}]
    }


def test_section_without_pages_is_omitted(root: Path) -> None:
    [_, guides] = navigation.read(root, ["index.md", "guides/keys.md"])

    assert [part.title for part in guides.parts] == ["Keys"]


def test_page_outside_the_navigation_is_rejected(root: Path) -> None:
    with pytest.raises(SetupError, match="does not list concepts/keys.md"):
        navigation.read(root, ["index.md", "guides/keys.md", "concepts/keys.md"])


def test_name_of_a_missing_page_is_rejected(root: Path) -> None:
    with pytest.raises(SetupError, match="names missing pages: guides/keys.md"):
        navigation.read(root, ["index.md"])
