"""Markdown made of docstrings."""

from __future__ import annotations

from tools.reference.markdown import prose


def test_indented_block_after_an_empty_line_is_code() -> None:
    written = prose("Enqueue:\n\n    enqueue(greet)\n\n    wait()\n\nGo on.", "python")

    assert written == "Enqueue:\n\n```python\nenqueue(greet)\n\nwait()\n```\n\nGo on."
