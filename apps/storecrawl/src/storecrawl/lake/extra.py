"""The optional packages of the lake, and the error message if one is missing."""

from __future__ import annotations

from importlib.util import find_spec

from rolecall import ConfigError

PACKAGES = ("duckdb", "pyarrow")


def require_lake(what: str) -> None:
    """Raise ConfigError with the command to install if a package is missing. `what` needs them."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        lacking = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        problem = f"{what} needs the extra `lake` ({lacking}): pip install 'storecrawl[lake]'"
        raise ConfigError(problem, variable="storecrawl[lake]")
