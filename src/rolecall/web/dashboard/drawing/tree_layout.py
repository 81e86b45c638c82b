"""Positions of a tree's nodes: parents above children, in execution order, without overlaps.

        ┌────────┐
        │ parent │        Each child with children of its own has its own block; three or more
        └───┬────┘        adjacent children without children hang in columns, read from top to bottom.
       ┌────┴────┐
    ┌──┴──┐      │ ┌──────┐
    │child│      ├─┤ leaf │
    └──┬──┘      │ └──────┘
    ┌──┴─┐       │ ┌──────┐
    │leaf│       └─┤ leaf │
    └────┘         └──────┘

All sizes are in pixels; x and y are those of a node's upper left corner.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

WIDTH = 208
HEIGHT = 54
APART = 24
BELOW = 40
ROW = 12
INDENT = 22
MOST_ROWS = 6
# A wide tree's root stays near the left edge, where readers begin.
FARTHEST = 420
FEWEST_HANGING = 3
BEND = 20


@dataclass(frozen=True, slots=True)
class Branch:
    """A node with a unique key, and the nodes below it in execution order."""

    key: str
    below: tuple[Branch, ...] = ()


@dataclass(frozen=True, slots=True)
class NodePosition:
    """The position of a node. A node in a column is connected at its left, along `rail`; others from above."""

    key: str
    x: int
    y: int
    rail: int | None = None

    def shift(self, x: int, y: int) -> NodePosition:
        """Return the position shifted right and down."""
        return replace(self, x=self.x + x, y=self.y + y, rail=None if self.rail is None else self.rail + x)


@dataclass(frozen=True, slots=True)
class Arrangement:
    """All positions, parents before their children, and the total size."""

    width: int
    height: int
    places: tuple[NodePosition, ...]


def arrange(branch: Branch) -> Arrangement:
    """Arrange a node and everything below it. The result is deterministic."""
    own = NodePosition(branch.key, 0, 0)
    if not branch.below:
        return Arrangement(WIDTH, HEIGHT, (own,))
    below = _side_by_side(list(_blocks(branch.below)))
    width = max(WIDTH, below.width)
    return Arrangement(
        width,
        HEIGHT + BELOW + below.height,
        (
            own.shift(min((width - WIDTH) // 2, FARTHEST), 0),
            *_shift_all(below, (width - below.width) // 2, HEIGHT + BELOW),
        ),
    )


def _blocks(children: Sequence[Branch]) -> Iterator[Arrangement]:
    for has_children, run in groupby(children, lambda child: bool(child.below)):
        leaves = list(run)
        if has_children or len(leaves) < FEWEST_HANGING:
            yield from map(arrange, leaves)
        else:
            yield from _columns(leaves)


def _columns(leaves: Sequence[Branch]) -> Iterator[Arrangement]:
    columns = -(-len(leaves) // MOST_ROWS)
    rows = -(-len(leaves) // columns)
    for first in range(0, len(leaves), rows):
        column = leaves[first : first + rows]
        places = tuple(NodePosition(leaf.key, INDENT, row * (HEIGHT + ROW), 0) for row, leaf in enumerate(column))
        yield Arrangement(INDENT + WIDTH, len(column) * (HEIGHT + ROW) - ROW, places)


def _side_by_side(blocks: Sequence[Arrangement]) -> Arrangement:
    places: list[NodePosition] = []
    x = 0
    for block in blocks:
        places += _shift_all(block, x, 0)
        x += block.width + APART
    return Arrangement(x - APART, max(block.height for block in blocks), tuple(places))


def _shift_all(block: Arrangement, x: int, y: int) -> Iterator[NodePosition]:
    return (place.shift(x, y) for place in block.places)


def descent(parent: NodePosition, child: NodePosition) -> str:
    """Return the SVG path from a node down to a node below it, with right angles."""
    start = f"M{parent.x + WIDTH // 2} {parent.y + HEIGHT}V{parent.y + HEIGHT + BELOW // 2}"
    if child.rail is None:
        return f"{start}H{child.x + WIDTH // 2}V{child.y}"
    return f"{start}H{child.rail}V{child.y + HEIGHT // 2}H{child.x}"


def bow(start: NodePosition, end: NodePosition) -> str:
    """Return the SVG path of a curve between the sides of two nodes."""
    from_x, to_x, bend = start.x + WIDTH, end.x, BEND
    if start.x > end.x:
        from_x, to_x, bend = start.x, end.x + WIDTH, -BEND
    # One above the other: both ends are at the right side.
    back = bend
    if start.x == end.x:
        to_x, back = from_x, -bend
    from_y, to_y = start.y + HEIGHT // 2, end.y + HEIGHT // 2
    return f"M{from_x} {from_y}C{from_x + bend} {from_y} {to_x - back} {to_y} {to_x} {to_y}"
