"""JSON output. A module of its own, so that commands without tables do not import rich."""

from __future__ import annotations

import json
import sys
from typing import TextIO

import msgspec


def print_json(value: object, stream: TextIO | None = None) -> None:
    """Write the value as one indented JSON document. Durations are in seconds."""
    plain = msgspec.to_builtins(value, enc_hook=str)
    print(json.dumps(plain, indent=2, ensure_ascii=False), file=stream or sys.stdout)
