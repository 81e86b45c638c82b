"""Forms: how their fields are built and parsed. Typed text is kept, and problems are shown next to the fields."""

from __future__ import annotations
