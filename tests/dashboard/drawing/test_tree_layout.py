"""Positions of the nodes in a tree diagram."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, count, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall.web.dashboard.drawing.tree_layout import (
    HEIGHT,
    WIDTH,
    Arrangement,
    Branch,
    NodePosition,
    arrange,
    bow,
    descent,
)

# A tree as nested lists of children.
SHAPES: st.SearchStrategy[list[Any]] = st.recursive(
    st.just([]), lambda below: st.lists(below, max_size=9), max_leaves=40
)


def tree(shape: list[Any]) -> Branch:
    """Return a tree of this shape. Its keys are numbered in reading order."""
    numbers = count()

    def branch(below: list[Any]) -> Branch:
        key = str(next(numbers))
        return Branch(key, tuple(branch(each) for each in below))

    return branch(shape)


def walk(branch: Branch) -> Iterator[Branch]:
    yield branch
    for each in branch.below:
        yield from walk(each)


def places_of(arrangement: Arrangement) -> dict[str, NodePosition]:
    return {place.key: place for place in arrangement.places}


@given(SHAPES)
def test_every_node_has_a_position_and_no_two_overlap(shape: list[Any]) -> None:
    root = tree(shape)

    places = arrange(root).places

    assert sorted(place.key for place in places) == sorted(branch.key for branch in walk(root))
    for one, other in combinations(places, 2):
        assert abs(one.x - other.x) >= WIDTH or abs(one.y - other.y) >= HEIGHT, (one, other)


@given(SHAPES)
def test_all_positions_are_within_the_picture(shape: list[Any]) -> None:
    arrangement = arrange(tree(shape))

    for place in arrangement.places:
        assert 0 <= place.x <= arrangement.width - WIDTH
        assert 0 <= place.y <= arrangement.height - HEIGHT


@given(SHAPES)
def test_parents_are_above_their_children_which_keep_their_order(shape: list[Any]) -> None:
    root = tree(shape)
    places = places_of(arrange(root))

    for branch in walk(root):
        below = [places[child.key] for child in branch.below]
        assert all(place.y >= places[branch.key].y + HEIGHT for place in below)
        for one, other in pairwise(below):
            assert one.x < other.x or (one.x == other.x and one.y < other.y)


@given(SHAPES)
def test_layout_of_a_tree_is_deterministic(shape: list[Any]) -> None:
    assert arrange(tree(shape)) == arrange(tree(shape))


def test_two_leaves_are_side_by_side_and_three_form_a_column() -> None:
    two, three = (places_of(arrange(tree([[]] * number))) for number in (2, 3))

    assert two["1"].y == two["2"].y
    assert two["1"].rail is None
    assert len({three[key].x for key in "123"}) == 1
    assert three["3"].rail is not None


def test_many_leaves_form_columns_of_equal_length() -> None:
    columns = [place.x for place in arrange(tree([[]] * 12)).places[1:]]

    assert [columns.count(x) for x in sorted(set(columns))] == [6, 6]


def test_line_connects_the_bottom_of_a_node_to_the_next_top() -> None:
    parent, child = arrange(tree([[]])).places

    path = descent(parent, child)

    assert path.startswith(f"M{parent.x + WIDTH // 2} {parent.y + HEIGHT}V")
    assert path.endswith(f"H{child.x + WIDTH // 2}V{child.y}")


def test_line_to_a_node_in_a_column_comes_from_the_left() -> None:
    parent, *_, last = arrange(tree([[]] * 3)).places

    assert descent(parent, last).endswith(f"H{last.rail}V{last.y + HEIGHT // 2}H{last.x}")


@pytest.mark.parametrize(
    ("start", "end", "sides"),
    [
        (NodePosition("a", 0, 0), NodePosition("b", 300, 100), (WIDTH, 300)),
        (NodePosition("a", 300, 0), NodePosition("b", 0, 100), (300, WIDTH)),
        (NodePosition("a", 0, 0), NodePosition("b", 0, 100), (WIDTH, WIDTH)),
    ],
    ids=["to the right", "to the left", "down"],
)
def test_arc_connects_the_sides_of_two_nodes(start: NodePosition, end: NodePosition, sides: tuple[int, int]) -> None:
    path = bow(start, end)

    assert path.startswith(f"M{sides[0]} {start.y + HEIGHT // 2}C")
    assert path.endswith(f" {sides[1]} {end.y + HEIGHT // 2}")
