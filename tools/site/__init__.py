"""Builds the documentation site from the pages in docs/ and elsewhere, and from the reference generated from the code.

    docs/, CHANGELOG.md ... ──► sources ──┐
    docstrings, SQL, routes ──► reference ┼──► .site/pages ──► zensical ──► .site/html ──► inspection: links, addresses
    docs/navigation.toml ─────► navigation┘

`./dev docs` builds it and fails on errors; `./dev docs --serve` shows it while you write.
"""

from __future__ import annotations
