"""Names of crawl payload files: made of numbers and chance only, in a folder a UTC day."""

from __future__ import annotations

import re
import secrets
from datetime import datetime

PAYLOAD_NAME = re.compile(r"(?:store_[0-9]+|discovery)_[0-9]+_[0-9]+_[0-9a-f]{16}\.(?:json|raw)\.gz")


def payload_path(store_id: int, task_id: int, attempt: int, at: datetime) -> str:
    """A new path, by the UTC day of `at`."""
    return _new_path(f"store_{store_id:d}", task_id, attempt, at)


def raw_path(store_id: int, task_id: int, attempt: int, at: datetime) -> str:
    """The same for the answers of which a payload is made."""
    return _new_path(f"store_{store_id:d}", task_id, attempt, at, kind="raw")


def answer_path(task_id: int, attempt: int, at: datetime) -> str:
    """The same for an answer to discovery, which belongs to no store."""
    return _new_path("discovery", task_id, attempt, at)


def is_payload_name(name: str) -> bool:
    """Whether a file's name is one that we give."""
    return PAYLOAD_NAME.fullmatch(name) is not None


def _new_path(what: str, task_id: int, attempt: int, at: datetime, *, kind: str = "json") -> str:
    return f"{at:%Y}/{at:%m}/{at:%d}/{what}_{task_id:d}_{attempt:d}_{secrets.token_hex(8)}.{kind}.gz"
