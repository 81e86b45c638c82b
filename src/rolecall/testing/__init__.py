"""For the tests of programs that use Rolecall: a database for every test, a clock to set, a worker to drain it.

Load the fixtures with `pytest_plugins = ["rolecall.testing.plugin"]` in your conftest.py, or with
`-p rolecall.testing.plugin`.
"""

from __future__ import annotations

from rolecall.testing.clock import Clock
from rolecall.testing.databases import TestServer, clone, template
from rolecall.testing.draining import drain, working
from rolecall.testing.in_transaction import inline

__all__ = ["Clock", "TestServer", "clone", "drain", "inline", "template", "working"]
