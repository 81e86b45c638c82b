"""The web application's program: `uvicorn --factory shop.web:make`."""

from __future__ import annotations

from fastapi import FastAPI

from shop.api import make_api
from shop.logs import set_up_logging
from shop.settings import Settings


def make() -> FastAPI:
    """Set up this process, and create the application with the settings from the environment."""
    set_up_logging()
    return make_api(Settings.from_environment())
