"""Reads the environment variables in a `.env` file, as Docker Compose and Flask do."""

from __future__ import annotations

from pathlib import Path

from rolecall.model.errors import ConfigError

FILE = Path(".env")


def load_dotenv() -> None:
    """Set the variables in `.env` in the working directory that are not set yet. Raises ConfigError."""
    if not FILE.is_file():
        return
    import dotenv  # noqa: PLC0415 - most commands find no such file

    try:
        dotenv.load_dotenv(FILE)
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"cannot be read: {error}", variable=str(FILE)) from error
