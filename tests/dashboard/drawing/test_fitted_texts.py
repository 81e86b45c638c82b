"""Truncated texts of drawings end in an ellipsis."""

from __future__ import annotations

from rolecall.web.dashboard.drawing.tree_picture import shorten


def test_fitting_text_is_not_changed() -> None:
    assert shorten("fetch_menu", 10) == "fetch_menu"


def test_too_long_text_ends_in_an_ellipsis() -> None:
    assert shorten("fetch_menus", 10) == "fetch_men…"
    assert shorten("a task that ends", 8) == "a task…"
