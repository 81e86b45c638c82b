"""The token of this machine: who can read its file, or was shown it when the server started, comes in on loopback.

It stays the same from start to start, so that programs can be told where it is. Who deletes the file gets another one.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from secrets import token_hex

from rolecall.model.errors import ConfigError
from rolecall.service.secrets import new_secret

__all__ = ["TOKEN_VARIABLE", "keep_token"]

TOKEN = re.compile(r"rl_[A-Za-z0-9_-]{43}")
OWN = 0o600
OTHERS = 0o077
TOKEN_VARIABLE = "ROLECALL_TOKEN_FILE"  # noqa: S105 - a name, not a secret


def keep_token(file: Path) -> str:
    """Return the token in this file; make one, for its owner alone, where there is none.

    Raises ConfigError where it cannot be kept, and where somebody else may have read or written it.
    """
    try:
        file = file.expanduser()
        if not file.exists():
            _make(file)
        return _read(file)
    except (OSError, RuntimeError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        raise _refused(file, f"this machine's token cannot be kept in {str(file)!r}: {problem}") from None


def _make(file: Path) -> None:
    """Write it whole before it bears its name: two servers may start at once, and keep one of the two."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}-{token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, OWN)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as text:
            text.write(new_secret("rl") + "\n")
        os.link(draft, file)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def _read(file: Path) -> str:
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, encoding="ascii", errors="replace") as text:
        status = os.fstat(text.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & OTHERS:
            raise _refused(file, f"others than this user can read or write {str(file)!r}: delete it")
        token = text.readline().strip()
    if not TOKEN.fullmatch(token):
        raise _refused(file, f"there is no token in {str(file)!r}: delete it")
    return token


def _refused(file: Path, problem: str) -> ConfigError:
    advice = "name another file by ROLECALL_TOKEN_FILE, or say --auth keys"
    return ConfigError(f"{problem}; {advice}", variable=TOKEN_VARIABLE, value=str(file))
