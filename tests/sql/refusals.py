"""Expected errors of calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest


@contextmanager
def refused(code: str, words: str = "") -> Iterator[None]:
    """Expect an error with this SQLSTATE and these words in its message (not in its context)."""
    with pytest.raises(psycopg.Error) as refusal:
        yield
    assert (refusal.value.sqlstate, words in (refusal.value.diag.message_primary or "")) == (code, True), refusal.value
