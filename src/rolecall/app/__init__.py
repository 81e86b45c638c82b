"""What a program declares: its handlers, its roles and their settings, its schedules."""

from __future__ import annotations

from rolecall.app.app import App
from rolecall.app.handlers import HandlerDefinition
from rolecall.app.roles import RoleDefinition

__all__ = ["App", "HandlerDefinition", "RoleDefinition"]
