"""Whose certificates are believed: the system's, or those of SSL_CERT_FILE or SSL_CERT_DIR where one is set."""

from __future__ import annotations

import os
import ssl

import httpx2

from rolecall import ConfigError

VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def trusted() -> ssl.SSLContext:
    """Whom to believe, of upstreams and of proxies. Raises ConfigError for a file that holds no certificates."""
    try:
        return httpx2.create_ssl_context()
    except OSError as error:
        variable = next((name for name in VARIABLES if os.environ.get(name)), VARIABLES[0])
        problem = f"no certificates can be read from it: {error}"
        raise ConfigError(problem, variable=variable, value=os.environ.get(variable)) from error
