"""Classifies SQLSTATEs: conditions of the server, and faults of the statement.

condition   the server cannot execute it now: no connection, no resources, read-only, stopping, damaged, or its schema
            is being changed; the same statement may succeed later, so it is sent again
fault       the database will never accept the statement
neither     unknown; the statement is sent again, as for a condition
"""

from __future__ import annotations

READ_ONLY = "25006"
# Lost connection, transaction rolled back in favor of another, no resources, operator intervention, system error,
# internal error.
CONDITION_CLASSES = frozenset({"08", "40", "53", "57", "58", "XX"})
# Lock not available; undefined table, function and schema, as during a migration.
CONDITIONS = frozenset({READ_ONLY, "55P03", "42P01", "42883", "3F000"})
# Invalid data, a violated constraint, a program limit (a value that is too large), an exception raised by a user's
# function, and Rolecall's own errors.
FAULT_CLASSES = frozenset({"22", "23", "54", "P0", "RC"})
FAULTS = frozenset({"42501"})
# Conditions that may affect one statement only: a timeout, a deadlock, memory, a damaged row.
ABOUT_STATEMENT_CLASSES = frozenset({"40", "XX"})
ABOUT_STATEMENT = frozenset({"53200", "53400", "55P03", "57014", "58030"})
# The server stops, recovers from a crash, or accepts no writes: the transaction is rolled back.
UNDOES_TRANSACTION = frozenset({READ_ONLY, "57P01", "57P02", "57P03"})


def is_condition(sqlstate: str | None) -> bool:
    """Return whether the error is about the server and not about the statement."""
    return sqlstate is not None and (sqlstate in CONDITIONS or sqlstate[:2] in CONDITION_CLASSES)


def is_fault(sqlstate: str | None) -> bool:
    """Return whether the report, task or request of the statement caused the error."""
    return sqlstate is not None and (sqlstate in FAULTS or sqlstate[:2] in FAULT_CLASSES)


def is_about_statement(sqlstate: str | None) -> bool:
    """Return whether a condition may affect this statement alone, while the server executes others."""
    return sqlstate is not None and (sqlstate in ABOUT_STATEMENT or sqlstate[:2] in ABOUT_STATEMENT_CLASSES)


def undoes_transaction(sqlstate: str | None) -> bool:
    """Return whether the error proves that nothing of the transaction was stored."""
    return sqlstate in UNDOES_TRANSACTION
