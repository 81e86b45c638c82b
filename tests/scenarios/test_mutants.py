from __future__ import annotations

import pytest

from tests.scenarios.chaos.member import REPOSITORY
from tests.scenarios.chaos.mutants import MUTANTS, Mutant, finds_mutant, turn
from tools.engine import Engine

ENGINE = Engine.read(REPOSITORY)
TURN = turn()
# Whether a run meets what a mutant breaks is a matter of chance.
HUNTS = 3
WHOSE_TURN = MUTANTS[TURN % len(MUTANTS)]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_code_changed_by_a_mutant_still_exists_in_the_engine(mutant: Mutant) -> None:
    for change in mutant.changes:
        assert change.old in ENGINE.by_name[change.function].file.read_text()


@pytest.mark.timeout(420)
@pytest.mark.parametrize("mutant", [WHOSE_TURN], ids=lambda mutant: f"{mutant.name}, seed {TURN}")
def test_checker_detects_the_mutant_of_this_run(mutant: Mutant) -> None:
    """Again by hand: python -m tests.scenarios.chaos.mutants --seed SEED NAME"""
    assert any(finds_mutant(mutant, TURN + n) for n in range(HUNTS))
