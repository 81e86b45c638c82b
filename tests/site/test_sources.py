from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.offences import ROOT
from tools.site import sources

STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)
Seed = Callable[[str, str], None]


@pytest.fixture
def page(tmp_path: Path, seed: Seed) -> Callable[[str], str]:
    """A page at docs/guides/keys.md as the site has it."""
    for name in sources.BESIDE:
        seed(name, "# Beside")
    seed("docs/performance.md", "# Performance")
    seed("tests/proofs.toml", "")
    seed("docs/life.svg", '<svg class="drawing" width="9">\n<style>.x {}</style>\n\n<text>running</text>\n</svg>')

    def written(text: str) -> str:
        seed("docs/guides/keys.md", text)
        return sources.pages(tmp_path)["guides/keys.md"]

    return written


@pytest.mark.parametrize(
    ("text", "led"),
    [
        ("[rates](../performance.md#growth)", "[rates](../performance.md#growth)"),
        ("[words](../../VOCABULARY.md)", "[words](../vocabulary.md)"),
        ("[start](../../README.md)", "[start](../index.md)"),
        ("[proofs](../../tests/proofs.toml)", "proofs"),
        ("[gone](../gone.md)", "[gone](../gone.md)"),
        ("[there](https://example.org) and [below](#keys)", "[there](https://example.org) and [below](#keys)"),
        ("![plot](../pictures/plot.png)", "![plot](../pictures/plot.png)"),
        ("```\n[words](../../VOCABULARY.md)\n```\n", "```\n[words](../../VOCABULARY.md)\n```\n"),
    ],
)
def test_links_are_rewritten_to_their_site_urls(page: Callable[[str], str], text: str, led: str) -> None:
    assert page(text) == led


def test_drawing_is_embedded_in_its_page_and_follows_its_theme(page: Callable[[str], str]) -> None:
    drawn = page("![a life](../life.svg)")

    assert '<figure role="img" aria-label="a life">' in drawn
    assert "<text>running</text>" in drawn
    assert "\n\n" not in drawn


def test_all_drawings_share_one_style() -> None:
    drawings = [file.read_text("utf-8") for file in sorted((ROOT / "docs" / "concepts").glob("*.svg"))]

    assert len({STYLE.findall(drawn)[0] for drawn in drawings}) == 1
    assert all(sources.DRAWING.search(drawn) for drawn in drawings)
