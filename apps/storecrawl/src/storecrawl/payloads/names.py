"""Names of payload files: the checksum of the document, in a folder per store."""

from __future__ import annotations

import re
import secrets
from datetime import datetime
from typing import Literal

Kind = Literal["json", "raw"]

STORE_PATH = re.compile(r"store_([1-9][0-9]*)/([0-9a-f]{64})\.(?:json|raw)\.zst")
FILE_NAME = re.compile(r"[0-9a-f]{64}\.(?:json|raw)\.zst|discovery_[0-9]+_[0-9]+_[0-9a-f]{16}\.json\.zst")


def content_path(store_id: int, sha256: str, kind: Kind) -> str:
    """Return the path of a store's document: the payload itself ("json") or its responses ("raw")."""
    return f"store_{store_id:d}/{sha256}.{kind}.zst"


def answer_path(task_id: int, attempt: int, at: datetime) -> str:
    """Return a new path for a response to discovery, which belongs to no store."""
    return f"{at:%Y}/{at:%m}/{at:%d}/discovery_{task_id:d}_{attempt:d}_{secrets.token_hex(8)}.json.zst"


def store_of_path(path: str) -> int | None:
    """Return the store of a file; None for files of no store."""
    found = STORE_PATH.fullmatch(path)
    return int(found[1]) if found else None


def sha256_of_path(path: str) -> str | None:
    """Return the checksum in a path; None for files that are not named by it."""
    found = STORE_PATH.fullmatch(path)
    return found[2] if found else None


def is_payload_name(name: str) -> bool:
    """Return whether a file's name is one of ours."""
    return FILE_NAME.fullmatch(name) is not None
