"""Computes positions and texts of pictures on the server. The templates turn them into SVG."""

from __future__ import annotations
