"""For the tests of programs that use Rolecall: a database of its own for every test, and a clock to set.

Load the fixtures with `pytest_plugins = ["rolecall.testing.plugin"]` in your conftest.py.
"""

from __future__ import annotations

from rolecall.testing.clock import Clock
from rolecall.testing.databases import TestServer, clone, template

__all__ = ["Clock", "TestServer", "clone", "template"]
