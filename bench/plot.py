"""Draws a session as bar charts: for each work the peers, and the ceiling as a line across them."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape

from bench.bars import CEILING
from bench.report import CEILING_OF, TITLES, Summary

COLOURS = ("#2a6f97", "#e09f3e", "#6a994e", "#9b2226", "#9a8c98", "#5f0f40", "#0f4c5c")
BOLD = 'font-weight="bold"'
BAR, GAP, LEFT, LONGEST, WIDTH = 18, 26, 230, 480, 860


def bars(summary: Summary) -> str:
    """Return the rates as an SVG drawing; each work has its own scale."""
    height = GAP
    parts = []
    for work in summary.works:
        drawn = list(_work(summary, work, height))
        if drawn:
            parts += drawn
            height += BAR * len(summary.peers) + GAP
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n'
        f"{body}\n</svg>\n"
    )


def _work(summary: Summary, work: str, top: int) -> Iterator[str]:
    rates = [(peer, summary.median(peer, work, "rate")) for peer in summary.peers]
    known = [(peer, rate) for peer, rate in rates if rate]
    ceiling = summary.median(CEILING, CEILING_OF.get(work, ""), "rate")
    if not known:
        return
    unit = LONGEST / max([rate for _, rate in known] + ([ceiling] if ceiling else []))
    yield text(0, top - 6, TITLES[work], BOLD)
    for number, (peer, rate) in enumerate(known):
        below = top + number * BAR
        yield text(8, below + 13, peer)
        colour = COLOURS[number % len(COLOURS)]
        yield f'<rect x="{LEFT}" y="{below}" width="{rate * unit:.0f}" height="{BAR - 3}" fill="{colour}"/>'
        yield text(LEFT + rate * unit + 6, below + 13, f"{rate:,.0f}")
    if ceiling:
        yield _ceiling_line(LEFT + ceiling * unit, top, len(known) * BAR, ceiling)


def _ceiling_line(x: float, top: int, length: int, rate: float) -> str:
    line = f'<path d="M{x:.0f} {top - 3}v{length}" stroke="#9b2226" stroke-dasharray="3 2"/>'
    return line + text(x + 6, top - 6, f"ceiling {rate:,.0f}")


def text(x: float, y: float, words: str, style: str = "") -> str:
    """Return an SVG text element."""
    return f'<text x="{x:.0f}" y="{y:.0f}" {style}>{escape(words)}</text>'
