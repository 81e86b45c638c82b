"""A throw-away project tree, and the reference as the site has it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.architecture.conftest import seed
from tools.offences import ROOT
from tools.reference import reference_pages

__all__ = ["seed"]


@pytest.fixture(scope="session")
def reference() -> Mapping[str, str]:
    """The pages of the reference, by their places."""
    return reference_pages(ROOT)
