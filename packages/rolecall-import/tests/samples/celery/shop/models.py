"""A model."""

from __future__ import annotations


class Order:
    number: int
