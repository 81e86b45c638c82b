"""The longest chain of calls below an SQL function."""

from __future__ import annotations

from collections.abc import Callable
from graphlib import CycleError
from pathlib import Path

import pytest

from tools.engine import Engine

Seed = Callable[[str, str], None]

PLACE = "src/rolecall/sql/functions/pool/pause.sql"


def test_longest_path_follows_the_deepest_calls(tmp_path: Path, seed: Seed) -> None:
    seed(PLACE, function("pause", "stop", "refuse") + function("stop", "refuse", "stop") + function("refuse"))

    assert Engine.read(tmp_path).longest_path_from("pause") == ["pause", "stop", "refuse"]


def test_circle_of_calls_has_no_longest_path(tmp_path: Path, seed: Seed) -> None:
    seed(PLACE, function("pause", "stop") + function("stop", "pause"))

    with pytest.raises(CycleError):
        Engine.read(tmp_path).longest_path_from("pause")


def function(name: str, *called: str) -> str:
    calls = "; ".join(f"select rolecall.{other}()" for other in called)
    return f"create or replace function rolecall.{name}() returns void as $$ {calls} $$;\n"
