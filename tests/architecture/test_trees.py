from __future__ import annotations

from pathlib import Path

import pytest

from tools.engine import Engine
from tools.trees import PAGE, write_page

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine.read(ROOT)


def test_engine_map_matches_the_actual_functions() -> None:
    assert (ROOT / PAGE).read_text("utf-8") == write_page(ROOT), "run `./dev map`, and commit"


def test_no_engine_function_is_indirectly_recursive(engine: Engine) -> None:
    left = {made.name: {called.name for called in engine.objects_called_by(made)} for made in engine.objects}
    while leaves := {name for name, called in left.items() if not called & left.keys()}:
        left = {name: called for name, called in left.items() if name not in leaves}

    assert left == {}


def test_finish_calls_functions_of_at_most_fourteen_files(engine: Engine) -> None:
    assert len({engine.by_name[name].file for name in engine.reachable_from({"finish"})}) <= 14
