"""A module for process handlers that changes the decimal context when it is imported, in the child process only."""

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
