"""What a program declares: its handlers, its roles and their settings, its schedules, its checks."""

from __future__ import annotations

from rolecall.app.app import App
from rolecall.app.declarations import Check, Mount, RoleDefinition, Router
from rolecall.app.handlers import FunctionHandler, HandlerDefinition, Middleware, Next
from rolecall.app.procedures import ProcedureDefinition

__all__ = [
    "App",
    "Check",
    "FunctionHandler",
    "HandlerDefinition",
    "Middleware",
    "Mount",
    "Next",
    "ProcedureDefinition",
    "RoleDefinition",
    "Router",
]
