"""Reads code bases that were written for other systems, without importing or running anything of them."""

from __future__ import annotations

from rolecall.foreign_code.inventory import Inventory
from rolecall.foreign_code.module import module_text
from rolecall.foreign_code.systems import read_code

__all__ = ["Inventory", "module_text", "read_code"]
