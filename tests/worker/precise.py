"""A module for handlers in processes that sets its arithmetic as it is imported, there and nowhere else."""

from __future__ import annotations

import decimal
import os

if "ROLECALL_PROCESS" in os.environ:
    decimal.getcontext().prec = 6


def divide(precision: int) -> str:
    """Return a third, with another precision if one is given."""
    if precision:
        decimal.getcontext().prec = precision
    return str(decimal.Decimal(1) / 3)
