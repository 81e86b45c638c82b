"""Output of the single-topic benchmark scripts: progress messages, a Markdown table, and all results as JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.report import table

RESULTS = Path(__file__).resolve().parent / "results"


def say(what: str) -> None:
    """Print a progress message."""
    print(f"{time.strftime('%T')} {what}", file=sys.stderr, flush=True)


def tell(
    name: str,
    heading: Mapping[str, object],
    measures: Sequence[Mapping[str, object]],
    *tables: tuple[Sequence[str], Sequence[Sequence[str]]],
) -> None:
    """Print the tables, and store them with the measurements below bench/results."""
    path = RESULTS / f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}.{name}"
    text = "\n".join(table(head, body) for head, body in tables)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_name(f"{path.name}.md").write_text(text)
    path.with_name(f"{path.name}.json").write_text(json.dumps({"heading": heading, "measures": measures}, indent=1))
    print(text)
    say(f"measures: {path}.json, and the table as .md")
