"""What a demo remembers in its folder: where its upstream listened and when that world began."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """The upstream's port and the unix time of its first step, so that a restarted demo goes on in the same world."""

    port: int
    epoch: float

    @classmethod
    def of(cls, data_dir: Path) -> Memory:
        """Read the folder's memory; a folder without one, or whose port is taken, gets a new one."""
        file = data_dir / "demo.json"
        known = msgspec.json.decode(file.read_bytes(), type=cls) if file.exists() else None
        if known is not None and _is_free(known.port):
            return known
        fresh = cls(port=_free_port(), epoch=known.epoch if known else time.time())
        # Renamed into place: a demo killed in between leaves the old memory or the new one.
        draft = file.with_suffix(".draft")
        draft.write_bytes(msgspec.json.encode(fresh))
        draft.replace(file)
        return fresh


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port
