from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tools import sizes

Seed = Callable[[str, str], None]

LONG_FUNCTION = "def long():\n" + "    print()\n" * 50
SEVEN = "def seven(self, a, b, c, d, *, e, f, g):{}\n    pass\n"


@pytest.mark.parametrize(
    ("place", "text", "wrong"),
    [
        ("src/a.py", LONG_FUNCTION, "long() has 51 lines, 50 are allowed"),
        ("src/a.py", "x = 1\n" * 401, "the file has 401 lines, 400 are allowed"),
        ("src/a.py", SEVEN.format(""), "seven() has 7 parameters, 6 are allowed (use an options object)"),
    ],
)
def test_oversized_code_is_reported(tmp_path: Path, seed: Seed, place: str, text: str, wrong: str) -> None:
    seed(place, text)

    assert [found.wrong for found in sizes.offences(tmp_path)] == [wrong]


@pytest.mark.parametrize(
    "text",
    [
        SEVEN.format("  # sizes: each is an option of the command"),
        LONG_FUNCTION.replace("    print()\n", '    """Two\n    lines."""\n', 1),
        "# sizes: all of them in one place\n" + "x = 1\n" * 401,
        "def short():\n    pass\n",
    ],
)
def test_exceptions_and_docstrings_do_not_count(tmp_path: Path, seed: Seed, text: str) -> None:
    seed("src/a.py", text)

    assert not list(sizes.offences(tmp_path))
