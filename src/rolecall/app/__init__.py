"""The declarations of a program: handlers, roles, schedules, checks."""

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
