"""Typed calls about requests that are carried out once."""

from __future__ import annotations

from rolecall.model.access import KeptAnswer, RequestKey
from rolecall.sql.statement import Row, Statement, nothing

__all__ = ["keep", "take"]


def take(request: RequestKey) -> Statement[KeptAnswer | None]:
    """Begin a request; the answer is that which it had, None where it is to be carried out.

    Raises RequestUnderWay, RequestKeyReused.
    """
    return Statement(
        query="select status, location, body from rolecall.take_request(%s::text, %s::text, %s::bytea)",
        params=(request.caller, request.key, request.digest),
        read=_read_kept,
    )


def keep(request: RequestKey, answer: KeptAnswer) -> Statement[None]:
    """Keep the answer; in the transaction in which the request was taken and carried out."""
    return Statement(
        query="select rolecall.keep_answer(%s::text, %s::text, %s::bytea, %s::int, %s::text, %s::text)",
        params=(request.caller, request.key, request.digest, answer.status, answer.location, answer.body),
        read=nothing,
    )


def _read_kept(rows: list[Row]) -> KeptAnswer | None:
    for status, location, body in rows:
        return KeptAnswer(status=status, location=location, body=body)
    return None
