from __future__ import annotations

from pathlib import Path

from tools.offences import ROOT
from tools.site import sources
from tools.site.building import HTML, build


def test_site_builds_without_errors_and_contains_every_docs_page(tmp_path: Path) -> None:
    build(ROOT, tmp_path)

    built = {file.relative_to(tmp_path / HTML).with_suffix(".md").as_posix() for file in tmp_path.rglob("*.html")}
    assert set(sources.places_of(ROOT).values()) - built == set()
