"""Reads code bases that were written for other systems, without importing or running anything of them."""

from __future__ import annotations

from rolecall_import.inventory import Inventory
from rolecall_import.module import module_text
from rolecall_import.systems import check_code, read_code

__all__ = ["Inventory", "check_code", "module_text", "read_code"]
