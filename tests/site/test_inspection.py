from __future__ import annotations

from pathlib import Path

import pytest

from tools.site import inspection


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ('<a href="b.html">b</a>', []),
        ('<a href="b.html#there">b</a>', []),
        ('<a href="https://example.org/">elsewhere</a>', []),
        ('<a href="gone.html">gone</a>', ["a.html links to gone.html, which does not exist"]),
        ('<img src="gone.png">', ["a.html links to gone.png, which does not exist"]),
        ('<a href="b.html#gone">b</a>', ["a.html links to b.html#gone, which has no such anchor"]),
        ('<a href="#gone">here</a>', ["a.html links to #gone, which has no such anchor"]),
        ('<script src="https://cdn.test/x.js">', ["a.html loads https://cdn.test/x.js, from another site"]),
        ('<link href="//cdn.test/x.css">', ["a.html loads //cdn.test/x.css, from another site"]),
    ],
)
def test_broken_links_and_external_resources_are_reported(tmp_path: Path, body: str, wrong: list[str]) -> None:
    (tmp_path / "a.html").write_text(body)
    (tmp_path / "b.html").write_text('<h1 id="there">b</h1>')

    assert list(inspection.faults(tmp_path)) == wrong
