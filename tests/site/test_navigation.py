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


def test_a_pattern_finds_what_is_named_nowhere_else(root: Path) -> None:
    [start, guides] = navigation.read(root, ["guides/rooms.md", "index.md", "guides/keys.md", "guides/live.md"])

    assert start.as_entry() == {"Start": ["index.md"]}
    assert guides.as_entry() == {
        "Guides": [{"Keys": ["guides/keys.md"]}, {"More": ["guides/live.md", "guides/rooms.md"]}]
    }


def test_a_part_without_pages_is_left_out(root: Path) -> None:
    [_, guides] = navigation.read(root, ["index.md", "guides/keys.md"])

    assert [part.title for part in guides.parts] == ["Keys"]


def test_a_page_without_a_place_is_refused(root: Path) -> None:
    with pytest.raises(SetupError, match="does not list concepts/keys.md"):
        navigation.read(root, ["index.md", "guides/keys.md", "concepts/keys.md"])


def test_a_name_without_a_page_is_refused(root: Path) -> None:
    with pytest.raises(SetupError, match="names missing pages: guides/keys.md"):
        navigation.read(root, ["index.md"])
