from __future__ import annotations

import tempfile
from pathlib import Path

import psycopg
import pytest

from rolecall import EmbeddedServer
from tests.scenarios.chaos.proxy import Proxy


@pytest.mark.parametrize("tcp", [False, True], ids=["a socket", "a port"])
def test_proxy_connects_over_a_socket_or_tcp(tcp: bool) -> None:
    with (
        # A socket's name must be short.
        tempfile.TemporaryDirectory() as folder,
        EmbeddedServer(Path(folder)) as server,
        Proxy(server.dsn(tcp=tcp)).relaying() as proxy,
        psycopg.connect(proxy.dsn) as connection,
    ):
        assert connection.execute("select 1").fetchone() == (1,)
