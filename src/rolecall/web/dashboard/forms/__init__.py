"""Forms made for what they are about, and read back: what was typed is kept, what is wrong stands beside it."""

from __future__ import annotations
