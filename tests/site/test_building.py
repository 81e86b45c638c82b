from __future__ import annotations

from pathlib import Path

from tools.offences import ROOT
from tools.site import sources
from tools.site.building import HTML, build


def test_the_site_is_built_without_a_fault_and_has_every_page_of_docs(tmp_path: Path) -> None:
    build(ROOT, tmp_path)

    built = {file.relative_to(tmp_path / HTML).with_suffix(".md").as_posix() for file in tmp_path.rglob("*.html")}
    assert set(sources.places_of(ROOT).values()) - built == set()
