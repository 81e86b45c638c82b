"""How much one reads to follow a task, or a click. The bars are in tools/walks.toml."""

from __future__ import annotations

from datetime import date

from tools import walks


async def test_figures_of_the_walks_are_within_their_bars(database: str) -> None:
    figures = walks.figures(await walks.walk(database, database))

    bars = walks.bars()
    assert figures.keys() == bars.keys()
    assert {name: figure for name, figure in figures.items() if figure > bars[name]} == {}


def test_changes_of_bars_have_a_date_and_a_reason() -> None:
    changes = [change for each in walks.bar_changes().values() for change in each]

    assert changes
    assert all(isinstance(change["date"], date) and change["reason"] for change in changes)


def test_changes_of_bars_are_in_the_order_of_their_dates() -> None:
    for changes in walks.bar_changes().values():
        dates = [change["date"] for change in changes]
        assert dates == sorted(dates)
