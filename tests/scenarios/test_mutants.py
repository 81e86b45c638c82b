from __future__ import annotations

import pytest

from tests.scenarios.chaos.member import REPOSITORY
from tests.scenarios.chaos.mutants import MUTANTS, Mutant

FUNCTIONS = REPOSITORY / "src" / "rolecall" / "sql" / "functions"


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_what_a_mutant_breaks_still_stands_in_the_engine(mutant: Mutant) -> None:
    for change in mutant.changes:
        [source] = FUNCTIONS.glob(f"*/{change.function}.sql")
        assert change.old in source.read_text()
