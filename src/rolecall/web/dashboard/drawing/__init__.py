"""Pictures drawn on the server: where everything stands, and what is written there; the templates make SVG of it."""

from __future__ import annotations
