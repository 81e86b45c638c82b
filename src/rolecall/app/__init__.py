"""What a program declares: its handlers, its roles and their settings, its schedules, its checks."""

from __future__ import annotations

from rolecall.app.app import App
from rolecall.app.checks import Check
from rolecall.app.handlers import HandlerDefinition
from rolecall.app.middlewares import Middleware, Next
from rolecall.app.mounts import Mount, Router
from rolecall.app.procedures import ProcedureDefinition
from rolecall.app.roles import RoleDefinition

__all__ = [
    "App",
    "Check",
    "HandlerDefinition",
    "Middleware",
    "Mount",
    "Next",
    "ProcedureDefinition",
    "RoleDefinition",
    "Router",
]
