"""Builds the documentation as a site: what is written in docs/ and beside it, and a reference made of the code.

    docs/, CHANGELOG.md ... ──► sources ──┐
    docstrings, SQL, routes ──► reference ┼──► .site/pages ──► zensical ──► .site/html ──► inspection: links, addresses
    docs/navigation.toml ─────► navigation┘

`./dev docs` builds it and fails for what is wrong; `./dev docs --serve` shows it while one writes.
"""

from __future__ import annotations
