"""The lines between nodes, as the paths that SVG draws."""

from __future__ import annotations

from rolecall.web.dashboard.drawing.places import BELOW, HEIGHT, WIDTH, Place

__all__ = ["bow", "descent"]

BEND = 20


def descent(parent: Place, child: Place) -> str:
    """From a node down to one that stands below it, in right angles."""
    start = f"M{parent.x + WIDTH // 2} {parent.y + HEIGHT}V{parent.y + HEIGHT + BELOW // 2}"
    if child.rail is None:
        return f"{start}H{child.x + WIDTH // 2}V{child.y}"
    return f"{start}H{child.rail}V{child.y + HEIGHT // 2}H{child.x}"


def bow(start: Place, end: Place) -> str:
    """From the side of a node to the side of another one, wherever they stand."""
    from_x, to_x, bend = start.x + WIDTH, end.x, BEND
    if start.x > end.x:
        from_x, to_x, bend = start.x, end.x + WIDTH, -BEND
    # One below the other: both at their right.
    back = bend
    if start.x == end.x:
        to_x, back = from_x, -bend
    from_y, to_y = start.y + HEIGHT // 2, end.y + HEIGHT // 2
    return f"M{from_x} {from_y}C{from_x + bend} {from_y} {to_x - back} {to_y} {to_x} {to_y}"
