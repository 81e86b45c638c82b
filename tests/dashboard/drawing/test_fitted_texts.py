"""Nothing that is drawn is cut in silence."""

from __future__ import annotations

from rolecall.web.dashboard.drawing.tree_picture import fitted


def test_what_fits_is_left_as_it_is() -> None:
    assert fitted("fetch_menu", 10) == "fetch_menu"


def test_what_does_not_fit_ends_in_an_ellipsis() -> None:
    assert fitted("fetch_menus", 10) == "fetch_men…"
    assert fitted("a task that ends", 8) == "a task…"
