from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tools import prose

Seed = Callable[[str, str], None]


def hits(root: Path) -> list[str]:
    return [
        f"{hit.path.relative_to(root)}:{hit.line}: {hit.wrong}"
        for each in prose.measure(root).values()
        for hit in each.hits
    ]


def test_awkward_docstring_is_reported_with_file_and_line(tmp_path: Path, seed: Seed) -> None:
    sentence = "What ended goes."
    seed("src/a.py", f'"""A module.\n\n{sentence}\n"""\n')

    assert hits(tmp_path) == [f"src/a.py:3: docstrings: clause as subject: {sentence}"]


@pytest.mark.parametrize(
    ("place", "text", "kind"),
    [
        ("docs/a.md", "A worker is told to stop.\n", "docs"),
        ("src/a.py", "# The key stands in the row.\n", "comments"),
        ("src/a.sql", "-- Rows that are no tasks.\n", "sql"),
        ("src/a.py", 'x = f"{y} is read anew by {z}"\n', "messages"),
        ("src/a.html", "<p>The page is to be read.</p>\n", "templates"),
        ("tests/test_a.py", "def test_a_task_is_let_go(): ...\n", "tests"),
    ],
)
def test_every_kind_of_text_is_read(tmp_path: Path, seed: Seed, place: str, text: str, kind: str) -> None:
    seed(place, text)

    assert {kind for kind, each in prose.measure(tmp_path).items() if each.hits} == {kind}


def test_limit_applies_to_each_kind_of_text(tmp_path: Path, seed: Seed) -> None:
    seed("docs/a.md", "A plain sentence without hits.\n" * 1000)
    seed("src/a.py", "# The fact stands in the row.\n")

    assert prose.above_limit(prose.measure(tmp_path)) == ["comments"]


def test_hits_below_the_limit_are_accepted(tmp_path: Path, seed: Seed) -> None:
    seed("docs/a.md", "A plain sentence without hits.\n" * 1000 + "The row stands in a table.\n")

    assert len(hits(tmp_path)) == 1
    assert not prose.above_limit(prose.measure(tmp_path))


def test_code_in_markdown_is_skipped(tmp_path: Path, seed: Seed) -> None:
    seed("docs/a.md", "```python\n# The key stands in the row.\n```\nSet `by itself`.\n")

    assert not hits(tmp_path)


def test_scripts_and_expressions_of_pages_are_skipped(tmp_path: Path, seed: Seed) -> None:
    seed("src/a.html", "<script>// read anew</script>{# read anew #}{{ read(' anew ') }}<p>Read again.</p>\n")

    assert not hits(tmp_path)
