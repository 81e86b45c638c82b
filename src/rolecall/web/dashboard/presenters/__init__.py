"""Prepares the results of services for templates. Independent of requests."""

from __future__ import annotations
