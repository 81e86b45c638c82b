"""Updates the test ids in tests/proofs.toml and docs/guarantees.md after tests have moved to other files."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

from tools.offences import ROOT, project_files

FILES = (Path("tests/proofs.toml"), Path("docs/guarantees.md"))
NODE = re.compile(r"([\w/]+/test_\w+\.py)::(test_\w+)")
DEFINED = re.compile(r"^(?:async )?def (test_\w+)", re.MULTILINE)


def main() -> int:
    """Replace each id whose test is in exactly one other file; return 1 if a test is in no file, or in several."""
    places: defaultdict[str, set[str]] = defaultdict(set)
    for file in project_files(ROOT, ".py"):
        for name in DEFINED.findall(file.read_text("utf-8")):
            places[name].add(file.relative_to(ROOT).as_posix())
    lost = set()

    def replace_node(node: re.Match[str]) -> str:
        found = places[node[2]]
        if node[1] not in found and len(found) != 1:
            lost.add(node[0])
        return node[0] if node[1] in found or len(found) != 1 else f"{next(iter(found))}::{node[2]}"

    for file in FILES:
        (ROOT / file).write_text(NODE.sub(replace_node, (ROOT / file).read_text("utf-8")), "utf-8")
    print("\n".join(sorted(lost)) or "all tests were found")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
