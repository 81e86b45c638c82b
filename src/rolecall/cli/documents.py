"""How results are shown to programs: one JSON document. What starts a process needs no tables, which cost rich."""

from __future__ import annotations

import json
import sys
from typing import TextIO

import msgspec


def print_json(value: object, stream: TextIO | None = None) -> None:
    """Write one indented JSON document; values are dataclasses, durations become seconds."""
    plain = msgspec.to_builtins(value, enc_hook=str)
    print(json.dumps(plain, indent=2, ensure_ascii=False), file=stream or sys.stdout)
